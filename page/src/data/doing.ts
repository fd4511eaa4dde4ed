import { ORIGINS, vmState, type Origin } from "./origin";
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
export type DoingKey = (typeof DOINGS)[number]["key"];
/** What a box is painted as: whose code it is, or what its threads did instead of running it. */
export type Colour = Origin | DoingKey;
/** What each is called, in the order in which they are shown. */
export const COLOURS: readonly (readonly [Colour, string])[] = [
  ...(Object.entries(ORIGINS) as [Origin, string][]), ...DOINGS.map(({ key, name }): [Colour, string] => [key, name]),
];

export const DOING_COUNT = DOINGS.length;
const [CPU, NATIVE, GC, GVL, CORE, BLOCKED, RUNNING, OFF] = DOINGS.map((_, index) => index);
const NANOSECONDS = "nanoseconds";

/** Who is told what threads did, and for how much of a sample: at most twice. */
type Told = (doing: number, amount: number) => void;

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
    const told = profile.labelSets.some((labels) => stateOf(labels) !== CPU);
    return told && columnOf(profile, "wall") >= 0 ? new Doing(profile, columnOf(profile, "wall"), columnOf(profile, "cpu")) : null;
  }

  tell(sample: number, told: Told): void {
    const wall = this.wall[sample];
    const state = this.states[this.profile.sampleLabels[sample]];
    if (state === GC || state === GVL) {
      told(state, wall);
    } else if (this.cpu) {
      const cpu = Math.min(this.cpu[sample], wall);
      told(state === CPU ? CPU : NATIVE, cpu);
      told(state === CPU ? CORE : BLOCKED, wall - cpu);
    } else {
      told(state === CPU ? RUNNING : OFF, wall);
    }
  }

  /** Adds the time of a sample to the amounts, which begin at `at`. */
  add(sample: number, amounts: Float64Array, at = 0): void {
    this.tell(sample, (doing, amount) => (amounts[at + doing] += amount));
  }
}

/** Whether threads ran the code that they were in: then a box has the colour of whose code it is. */
export function isRunning(doing: number): boolean {
  return doing === CPU || doing === RUNNING;
}

/** What threads did in the samples of a value: of wall time it is what Doing says; CPU time that is not of the GVL or the GC is native code's. */
export function statesOf(profile: Profile, type: number): (sample: number, told: Told) => void {
  const doing = type === columnOf(profile, "wall") ? Doing.of(profile) : null;
  if (doing) return (sample, told) => doing.tell(sample, told);
  const blocked = type === columnOf(profile, "cpu") ? NATIVE : OFF;
  const states = Uint8Array.from(profile.labelSets, (labels) => stateOf(labels)).map((state) => (state === BLOCKED ? blocked : state));
  const values = profile.values[type];
  return (sample, told) => told(states[profile.sampleLabels[sample]], values[sample]);
}

function columnOf(profile: Profile, name: string): number {
  return profile.types.findIndex((type) => type.name === name && type.unit === NANOSECONDS);
}

function stateOf(labels: Labels): number {
  return { running: CPU, gc: GC, gvl: GVL, blocked: BLOCKED }[vmState(labels)];
}
