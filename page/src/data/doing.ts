import { vmState } from "./origin";
import type { Labels, Profile } from "./profile";

/** What threads did with their time, in the order in which it is shown. */
export const DOINGS = [
  { key: "cpu", name: "CPU" },
  { key: "native", name: "CPU off the GVL" },
  { key: "gc", name: "GC" },
  { key: "gvl", name: "GVL wait" },
  { key: "core", name: "core wait" },
  { key: "blocked", name: "I/O, sleep, locks" },
  // Without CPU time nobody knows more:
  { key: "running", name: "running" },
  { key: "off", name: "off the GVL" },
] as const;
export const DOING_COUNT = DOINGS.length;
const [CPU, NATIVE, GC, GVL, CORE, BLOCKED, RUNNING, OFF] = DOINGS.map((_, index) => index);
const NANOSECONDS = "nanoseconds";

/** Wall time by what threads did: CPU time says what of it they ran. Files without wall time, or without states, do not say so. */
export class Doing {
  private readonly wall: ArrayLike<number>;
  private readonly cpu: ArrayLike<number> | null;
  private readonly states: Uint8Array; // of each label set: CPU (it runs), GC, GVL or BLOCKED

  private constructor(private readonly profile: Profile, wall: number, cpu: number) {
    this.wall = profile.values[wall];
    this.cpu = cpu >= 0 ? profile.values[cpu] : null;
    this.states = Uint8Array.from(profile.labelSets, stateOf);
  }

  static of(profile: Profile): Doing | null {
    const column = (name: string) => profile.types.findIndex((type) => type.name === name && type.unit === NANOSECONDS);
    const told = profile.labelSets.some((labels) => stateOf(labels) !== CPU);
    return told && column("wall") >= 0 ? new Doing(profile, column("wall"), column("cpu")) : null;
  }

  /** Adds the time of a sample to the amounts, which begin at `at`. */
  add(sample: number, amounts: Float64Array, at = 0): void {
    const wall = this.wall[sample];
    const state = this.states[this.profile.sampleLabels[sample]];
    if (state === GC || state === GVL) {
      amounts[at + state] += wall;
    } else if (this.cpu) {
      const cpu = Math.min(this.cpu[sample], wall);
      amounts[at + (state === CPU ? CPU : NATIVE)] += cpu;
      amounts[at + (state === CPU ? CORE : BLOCKED)] += wall - cpu;
    } else {
      amounts[at + (state === CPU ? RUNNING : OFF)] += wall;
    }
  }
}

function stateOf(labels: Labels): number {
  return { running: CPU, gc: GC, gvl: GVL, blocked: BLOCKED }[vmState(labels)];
}
