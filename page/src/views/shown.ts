import type { SampleTree } from "../data/sample_tree";
import type { Source } from "../sources/source";
import type { Model } from "../model";
import type { State, Store } from "../parts/state";
import type { Marked } from "./flame_graph";

/** Which rows are open, and which one the keys are at: by their names from the root on, as a tree that grows is drawn again and again. */
export interface Place {
  opened: Set<string>;
  here: string;
  box: Marked; // in the flame graph
  whole: Set<string>; // tables whose rows are all shown
  tree?: SampleTree; // in which they are
}

/** What every view is given. */
export interface Shown {
  model: Model;
  state: State;
  store: Store;
  source: Source;
  width: number;
  place: Place; // in the tree
  say(text: string): void; // in the line below, which screen readers read out
}
