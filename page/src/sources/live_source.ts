import { decode } from "../decode/decode";
import { GrowingProfile } from "../data/growing_profile";
import { LiveProfile } from "./live_profile";
import type { Profile } from "../data/profile";
import { get, leave, servedLines } from "./served";
import type { Listener, Live, LiveProcess, Manifest, Position, Source } from "./source";

const HEAD_BYTES = 5;
const HERE_MS = 2000;

interface Head {
  next: number;
  lost: number;
  now_ms: number;
  windows: { pid: number; at_ms: number }[];
  processes: { pid: number; state: LiveProcess["state"]; why: string | null; seen_ms: number | null; threads: Record<string, string> | null }[];
}

/** Processes that run: asks for what they did since the last answer, again and again. While it is paused it asks for nothing. */
export class LiveSource implements Source, Live {
  readonly live: Live = this;
  readonly isTrace: boolean;
  processes: LiveProcess[] = [];
  lost = 0;
  paused = false;
  private profile: LiveProfile;
  private next = 0;
  private stopped = false;
  private readonly files = new Map<string, Promise<string[] | null>>();
  private changed: (profile: Profile) => void = () => {};

  constructor(readonly manifest: Manifest) {
    this.isTrace = manifest.live?.trace ?? false;
    this.profile = new LiveProfile(this.isTrace);
  }

  async start({ changed, failed }: Listener): Promise<void> {
    this.changed = changed;
    if (this.isTrace) this.sayThatItIsHere();
    changed(this.profile.profile);
    try {
      while (!this.stopped) await this.update();
    } catch (error) {
      failed(`No updates come any more: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Asked for once, as the lines are drawn again with each update. */
  lines(path: string): Promise<string[] | null> {
    if (!this.files.has(path)) this.files.set(path, servedLines(this.manifest, path));
    return this.files.get(path)!;
  }

  clear(): void {
    this.profile = new LiveProfile(this.isTrace);
    this.lost = 0;
    this.changed(this.profile.profile);
  }

  stop(): void {
    this.stopped = true;
  }

  /** Processes are slowed down for as long as a page is open, also where it shows no updates for a while. */
  private sayThatItIsHere(): void {
    const again = setInterval(() => (this.stopped ? clearInterval(again) : void get("here", "here").catch(() => clearInterval(again))), HERE_MS);
    addEventListener("pagehide", () => leave());
  }

  positions(): Position[] {
    return this.profile.positions();
  }

  /** Not more often than was asked for, and drawing takes half of the time at the most. */
  private async update(): Promise<void> {
    const began = performance.now();
    const answer = await get(`updates?since=${this.next}`, "updates").catch((error: unknown) => {
      throw new Error(`the command has ended (${String(error)})`);
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    while (this.paused && !this.stopped) await pause(this.manifest.live!.interval_ms);
    if (this.stopped) return;
    const drawing = performance.now();
    await this.take(bytes);
    if (this.stopped) return;
    this.changed(this.profile.profile);
    const now = performance.now();
    await pause(Math.max(began + this.manifest.live!.interval_ms - now, now - drawing));
  }

  private async take(bytes: Uint8Array): Promise<void> {
    const [first, ...windows] = messages(bytes);
    const head = JSON.parse(new TextDecoder().decode(first)) as Head;
    const profile = this.profile; // it may be cleared meanwhile
    this.next = head.next;
    this.lost += head.lost;
    for (const { pid, threads } of head.processes) profile.name(String(pid), threads ?? {});
    for (const [index, { pid, at_ms }] of head.windows.entries()) {
      const update = new GrowingProfile();
      await decode(windows[index], `process ${pid}`, "", update);
      profile.add(update, String(pid), at_ms);
    }
    profile.tick(head.now_ms);
    this.processes = head.processes.map(({ pid, state, why, seen_ms }) => ({ pid, state, why, quiet_ms: seen_ms === null ? null : Math.max(head.now_ms - seen_ms, 0) }));
    for (const { pid, state } of this.processes) if (state === "ended") profile.forget(String(pid));
  }
}

/** As on the control socket: four bytes of length, a byte that says what it is, and the bytes. */
function messages(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + HEAD_BYTES + view.getUint32(at);
    found.push(bytes.subarray(at + HEAD_BYTES, end));
    at = end;
  }
  return found;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(ms, 0)));
}
