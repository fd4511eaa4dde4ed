import type { Source } from "../data/source";
import type { Model } from "../model";
import type { State, Store } from "../parts/state";
import type { Place } from "./tree";

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
