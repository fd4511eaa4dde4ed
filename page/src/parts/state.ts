import { GROUPINGS, type Grouping } from "../data/grouping";

export const VIEWS = ["flame", "table", "callers", "tree", "tags", "timeline", "source"] as const;
export type View = (typeof VIEWS)[number];

/** What is shown and how. All of it is in the address, after the #, which goes to no server. */
export interface State {
  view: View;
  value: string; // of the profile's types
  icicle: boolean;
  search: string;
  focus: string;
  ignore: string;
  tagfocus: string;
  tagignore: string[]; // JSON of [key, value or null]
  only: string[]; // likewise: what samples must have
  tagroot: string[];
  tagleaf: string[];
  group: Grouping;
  application: boolean;
  zoom: string[]; // the path of the frame
  span: string; // "FROM-TO", shares of the width: what is seen of the flame graph instead
  method: string; // JSON of [name, file]: in callers and source
  range: string; // "FROM-TO": columns of the timeline
  last: string; // seconds; empty: all
  rows: string; // the label of the timeline's rows
  compare: "" | "side" | "range" | "label";
  key: string; // of the label whose values are compared
  base: string;
  target: string;
  relative: boolean; // shares are compared, not amounts
  sort: string; // a column; with - before it the smallest first
  theme: "" | "light" | "dark";
}

export const INITIAL: State = {
  view: "flame", value: "", icicle: false, search: "", focus: "", ignore: "", tagfocus: "", tagignore: [], only: [], tagroot: [], tagleaf: [],
  group: "function", application: false, zoom: [], span: "", method: "", range: "", last: "", rows: "", compare: "", key: "", base: "", target: "",
  relative: false, sort: "", theme: "",
};

const CHOICES: Partial<Record<keyof State, readonly string[]>> = {
  view: VIEWS, group: GROUPINGS, compare: ["", "side", "range", "label"], theme: ["", "light", "dark"],
};

/** What decides which boxes there are, and how wide: a part of the width is of one such tree only. */
const SHAPES: readonly (keyof State)[] = [
  "value", "focus", "ignore", "tagfocus", "tagignore", "only", "tagroot", "tagleaf", "group", "application", "range", "last", "compare", "key", "base",
  "target", "relative",
];

/** Only what differs from the initial state. */
export function toAddress(state: State): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (Array.isArray(value)) value.forEach((one) => parameters.append(name, one));
    else if (value !== INITIAL[name as keyof State]) parameters.set(name, value === true ? "1" : String(value));
  }
  return parameters.toString();
}

/** What is no state is left out, as an address may come from anybody. */
export function fromAddress(address: string): State {
  const parameters = new URLSearchParams(address.replace(/^#/, ""));
  const entries = Object.entries(INITIAL).map(([name, initial]) => {
    if (Array.isArray(initial)) return [name, parameters.getAll(name)];
    const value = parameters.get(name);
    if (value === null) return [name, initial];
    if (typeof initial === "boolean") return [name, value === "1"];
    const choices = CHOICES[name as keyof State];
    return [name, choices && !choices.includes(value) ? initial : value];
  });
  return Object.fromEntries(entries) as State;
}

/** The state of the page, and who wants to know when it changes. */
export class Store {
  state: State;

  /** @param initial what an address without a state shows */
  constructor(private readonly initial: string, private readonly changed: () => void) {
    this.state = this.read();
    addEventListener("hashchange", () => this.reread());
    addEventListener("popstate", () => this.reread());
  }

  private read(): State {
    return fromAddress(location.hash || this.initial);
  }

  private reread(): void {
    const before = toAddress(this.state);
    this.state = this.read();
    if (toAddress(this.state) !== before) this.changed();
  }

  /** Another tree is seen in all its width. @param step whether "back" comes back to what was shown before */
  set(change: Partial<State>, step = true): void {
    const before = toAddress(this.state);
    const next = { ...this.state, ...change };
    const reshaped = SHAPES.some((name) => String(next[name]) !== String(this.state[name]));
    this.state = reshaped && !("span" in change) ? { ...next, span: "" } : next;
    const address = toAddress(this.state);
    if (address === before) return;
    history[step ? "pushState" : "replaceState"](null, "", `#${address}`);
    this.changed();
  }
}
