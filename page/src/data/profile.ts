export interface Frame {
  name: string;
  file: string;
  line: number; // 0: not known
}
export interface ValueType {
  name: string;
  unit: string;
}
/** How much there is at the end of a window: windows of a process do not add up. */
export function isLevel({ name }: ValueType): boolean {
  return name === "inuse_objects" || name === "inuse_space";
}
/** A Map, as a label may be called like a method of every object. */
export type Labels = ReadonlyMap<string, string>;
export type Side = "base" | "target" | "";

/** What a snapshot says of the code that ran. */
export interface Commit {
  sha: string;
  subject: string;
  time: number; // ms; NaN: not known
  dirty: boolean; // with changes that were not committed
}

/** What a file says of itself: its Ruby, its host, how often it sampled. */
export interface Fact {
  name: string;
  value: string | number;
  unit?: string; // of a number
  joined?: "sum" | "most"; // what it is of several files; else they have each its own
}

/** One file: what it is called, and the time it is of (ns; 0: not known). */
export interface Window {
  name: string;
  start: number;
  duration: number;
  side: Side;
  types?: readonly number[]; // the values that it has, of all that the profile has
  commit?: Commit;
  facts?: readonly Fact[];
}

/** Stacks that share their callers: a node is a frame under a parent. Parents come before their children; node 0 is the root. */
export interface Stacks {
  readonly parent: Int32Array;
  readonly frame: Int32Array;
  readonly size: number;
}

/** The squared weights of each row, added up; NaN: its file does not say. null: no file does. */
export type Squares = ArrayLike<number> | null;

/** What is shown: the samples of all windows over one tree of stacks. */
export interface Profile {
  readonly types: readonly ValueType[];
  readonly frames: readonly Frame[];
  readonly stacks: Stacks;
  readonly labelSets: readonly Labels[];
  readonly windows: readonly Window[];
  readonly defaultType: string;
  readonly sampleCount: number;
  readonly sampleNode: ArrayLike<number>;
  readonly sampleLabels: ArrayLike<number>;
  readonly sampleWindow: ArrayLike<number>;
  readonly values: readonly ArrayLike<number>[]; // of each type, of each sample
  readonly squares: readonly Squares[]; // of each type
}
