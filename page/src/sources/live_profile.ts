import { GrowingProfile } from "../data/growing_profile";
import { vmState, type VmState } from "../data/origin";
import { isLevel, type Profile } from "../data/profile";
import type { Position } from "./source";

const SECONDS_APART = 60; // the last ones are windows of their own, so that a range of them can be shown
const JOINED_AT = 150;
const STATE_TEXTS = { running: "running", gc: "GC", gvl: "waiting for the GVL", blocked: "blocked" };
const MAX_WAIT = 20; // windows of a process without a thread, until that has ended
const AT = "%at"; // the label of a sample that says where its thread is, which counts nothing: its state
const NAME = "%thread"; // of that thread

/**
 * What processes did since it began, and where their threads are. It grows with what is different, not with time: of each second there is
 * one sample a stack and label set, and seconds of long ago are one window.
 */
export class LiveProfile {
  readonly profile = new GrowingProfile();
  private readonly seen = new Map<string, Position & { missed: number }>(); // by process and thread
  private readonly names = new Map<string, Record<string, string>>(); // of a process's threads, by their numbers
  private readonly samples = new Map<number, number>(); // of the second that is now

  /** @param isTrace where threads are is told, else it is where they were */
  constructor(private readonly isTrace: boolean) {}

  /** Time goes on, also while nothing comes. */
  tick(ms: number): void {
    const { windows } = this.profile;
    const second = Math.floor(ms / 1000) * 1e9;
    if (windows.length > 0 && windows[windows.length - 1].start >= second) return;
    this.samples.clear();
    if (windows.length >= JOINED_AT) this.join(windows.length - SECONDS_APART);
    this.profile.addWindow({ name: "", start: second, duration: 1e9, side: "" });
  }

  name(pid: string, threads: Record<string, string>): void {
    this.names.set(pid, threads);
  }

  /** @param update what a process did since the one before */
  add(update: Profile, pid: string, ms: number): void {
    this.tick(ms);
    const { profile } = this;
    const columns = update.types.map(({ name, unit }) => profile.type(name, unit));
    profile.defaultType ||= update.defaultType;
    const frames = update.frames.map(({ name, file, line }) => profile.frame(name, file, line));
    const nodes = new Int32Array(update.stacks.size);
    for (let node = 1; node < nodes.length; node++) nodes[node] = profile.stacks.child(nodes[update.stacks.parent[node]], frames[update.stacks.frame[node]]);
    const labels = update.labelSets.map((set) => profile.labels(new Map([...[...set].filter(([key]) => key !== AT && key !== NAME), ["%pid", pid]])));
    const into = Int32Array.from({ length: update.sampleCount }, (_, at) => this.sample(nodes[update.sampleNode[at]], labels[update.sampleLabels[at]]));
    columns.forEach((column) => this.beginLevel(column, pid));
    const counts = Array.from(update.sampleLabels, (set) => !update.labelSets[set].has(AT));
    columns.forEach((column, type) => into.forEach((sample, at) => counts[at] && (profile.values[column][sample] += update.values[type][at])));
    if (counts.includes(false)) this.place(update, pid, into);
    else this.locate(update, pid, into);
  }

  positions(): Position[] {
    return [...this.seen.values()];
  }

  /** A process has ended. */
  forget(pid: string): void {
    this.names.delete(pid);
    for (const [key, position] of this.seen) if (position.pid === pid) this.seen.delete(key);
  }

  /** A level is how much there is now, also if that is nothing: what the process had before is over. */
  private beginLevel(column: number, pid: string): void {
    const { profile } = this;
    if (!isLevel(profile.types[column])) return;
    const own = profile.labelSets.map((set) => set.get("%pid") === pid);
    profile.values[column].forEach((_, sample) => {
      if (own[profile.sampleLabels[sample]]) profile.values[column][sample] = 0;
    });
  }

  private sample(node: number, labels: number): number {
    const key = node * 2 ** 22 + labels;
    let sample = this.samples.get(key);
    if (sample === undefined) this.samples.set(key, (sample = this.profile.addSample(node, labels, this.profile.windows.length - 1)));
    return sample;
  }

  /** The update says where each thread is. */
  private place(update: Profile, pid: string, into: Int32Array): void {
    this.forget(pid);
    into.forEach((sample, at) => {
      const set = update.labelSets[update.sampleLabels[at]];
      const state = set.get(AT) as VmState | undefined;
      const thread = set.get("thread_seq") ?? "";
      if (state) this.seen.set(`${pid} ${thread}`, { pid, thread, name: set.get(NAME) ?? "", sample, state: STATE_TEXTS[state], missed: 0 });
    });
  }

  /** A thread is where it was for the most of the update's time. */
  private locate(update: Profile, pid: string, into: Int32Array): void {
    if (this.isTrace) return; // a part of an update: the last one says it
    const wall = update.values[Math.max(update.types.findIndex(({ name }) => name === "wall"), 0)];
    const most = new Map<string, number>();
    for (let at = 0; at < into.length; at++) {
      const thread = update.labelSets[update.sampleLabels[at]].get("thread_seq") ?? "";
      const before = most.get(thread);
      if (thread !== "" && (before === undefined || wall[at] > wall[before])) most.set(thread, at);
    }
    for (const [key, position] of this.seen) if (position.pid === pid && ++position.missed > MAX_WAIT) this.seen.delete(key);
    for (const [thread, at] of most) {
      const state = STATE_TEXTS[vmState(update.labelSets[update.sampleLabels[at]])];
      this.seen.set(`${pid} ${thread}`, { pid, thread, name: this.names.get(pid)?.[thread] ?? "", sample: into[at], state, missed: 0 });
    }
  }

  private join(count: number): void {
    const into = this.profile.joinWindows(count);
    for (const position of this.seen.values()) position.sample = into[position.sample];
  }
}
