import type { SampleTree, Question } from "../data/sample_tree";
import type { Profile, Side } from "../data/profile";
import type { Sandwich } from "../data/sandwich";

export interface FileEntry {
  name: string;
  url?: string; // where it is served
  side?: Side;
}

/** What the page is told when it is opened. */
export interface Manifest {
  title: string;
  files: FileEntry[];
  state?: string; // what an address without a state shows
  source?: boolean; // source lines can be asked for
  max_bytes?: number; // of a file, uncompressed, that are read
  takes?: boolean; // snapshots can be asked for
  live?: LiveManifest; // it grows: updates can be asked for
}

interface LiveManifest {
  interval_ms: number;
  trace?: boolean; // every call: all that is shown is exact
}

/** Who wants to know what a source has. */
export interface Listener {
  /** Answers once it is drawn. */
  changed(profile: Profile): void | Promise<void>;
  failed(message: string): void;
  reading(name: string): void;
}

/** Where a profile comes from. One that grows calls `changed` again. */
export interface Source {
  manifest: Manifest;
  live?: Live;
  trees?: Trees; // of a large profile: who makes its call trees
  start(listener: Listener): Promise<void>;
  /** The listener wants no more. */
  stop(): void;
  /** The lines of a source file; null where it is not at hand. */
  lines(path: string): Promise<string[] | null>;
}

/** What one can do with a source that grows, and what it knows of its processes. */
export interface Live {
  readonly processes: LiveProcess[];
  readonly lost: number; // windows that came and went between two questions
  readonly isTrace: boolean; // positions are where threads are, else where each was for the most of its last update
  paused: boolean;
  clear(): void;
  positions(): Position[];
}

export interface LiveProcess {
  pid: number;
  state: "asked" | "recording" | "ended";
  why: string | null;
  quiet_ms: number | null; // since its last window; null: there was none yet
}

export interface Position {
  pid: string;
  thread: string;
  name: string; // "": not known
  sample: number;
  state: string;
}

/** Who answers questions while the page goes on, one at a time. */
export interface Trees {
  sampleTree(question: Question): Promise<SampleTree>;
  /** Of a group of the call tree that was asked for last. */
  sandwich(group: number): Promise<Sandwich>;
}
