import { about, type Told } from "./data/about";
import { sampleTree, type SampleTree, type Question, type Row } from "./data/sample_tree";
import type { Filter, Tag } from "./data/filter";
import { functions } from "./data/functions";
import type { Profile, ValueType } from "./data/profile";
import { sandwich, type Sandwich } from "./data/sandwich";
import { parseRange, type Comparison } from "./data/sides";
import type { Live, Trees } from "./sources/source";
import { whatThreadsDid } from "./data/tags";
import { Timeline } from "./data/timeline";
import type { State, View } from "./parts/state";

const WITHOUT_TREE: readonly View[] = ["tags", "timeline"];

/** The profile as the state asks for it. The call tree is kept until something that it depends on changes. */
export class Model {
  timeline: Timeline;
  private tree: SampleTree | null = null;
  private treeKey = "";
  private around: Sandwich | null = null;
  private aroundKey = "";
  private did: Float64Array | null = null;
  private didKey = "";

  /** @param trees who makes call trees while the page goes on; undefined: they are made when they are drawn */
  constructor(readonly profile: Profile, private readonly live?: Live, private trees?: Trees) {
    this.timeline = new Timeline(profile, live !== undefined);
  }

  /** The profile has grown. */
  refresh(): void {
    this.timeline = new Timeline(this.profile, this.live !== undefined);
    this.tree = null;
    this.aroundKey = this.didKey = "";
  }

  /** What the files say of themselves that are shown; nothing of processes that run. */
  about(state: State): Told[] {
    if (this.live) return [];
    const { windows: range } = this.filter(state);
    const { columnOf } = this.timeline;
    return about(this.profile.windows.filter((_, window) => !range || (columnOf[window] >= range[0] && columnOf[window] <= range[1])));
  }

  typeIndex(state: State): number {
    const chosen = this.valueNames().indexOf(state.value);
    return Math.max(chosen >= 0 ? chosen : this.profile.types.findIndex(({ name }) => name === this.profile.defaultType), 0);
  }

  /** What each type is called: files may have one name with several units. */
  valueNames(): string[] {
    const { types } = this.profile;
    return types.map(({ name, unit }) => (types.filter((other) => other.name === name).length > 1 ? `${name} (${unit})` : name));
  }

  type(state: State): ValueType {
    return this.profile.types[this.typeIndex(state)] ?? { name: "", unit: "" };
  }

  sampleTree(state: State): SampleTree {
    const asked = asOf(state);
    const key = this.keyOf(asked);
    if (!this.tree || key !== this.treeKey) this.keep(sampleTree(this.profile, this.question(asked)), key);
    return this.tree!;
  }

  /** The function that the state names, or else the one with the most of its own. */
  chosen(state: State): Row | undefined {
    const rows = functions(this.sampleTree(state));
    const named = pair(state.method);
    const found = named && rows.find(({ group }) => group.name === named[0] && group.file === (named[1] ?? ""));
    return found ?? [...rows].sort((a, b) => b.self - a.self)[0];
  }

  /** Callers and callees of a group of the call tree. */
  sandwich(state: State, group: number): Sandwich {
    const tree = this.sampleTree(state);
    const key = this.keyAround(group);
    if (key !== this.aroundKey) this.keepAround(sandwich(tree, group), key);
    return this.around!;
  }

  /** Whether both sides of a comparison are in the call tree of the view. */
  compares(state: State): boolean {
    return state.compare !== "" && !WITHOUT_TREE.includes(state.view);
  }

  /** What the state shows and is not known yet: more may be missing afterwards. null: it can be drawn at once. */
  prepare(state: State): Promise<void> | null {
    if (!this.trees || WITHOUT_TREE.includes(state.view)) return null;
    return this.prepareTree(this.trees, state)?.catch((error: unknown) => {
      this.trees = undefined; // it is made here, then
      throw error;
    }) ?? null;
  }

  private prepareTree(trees: Trees, state: State): Promise<void> | null {
    const asked = asOf(state);
    const key = this.keyOf(asked);
    if (key !== this.treeKey) return trees.sampleTree(this.question(asked)).then((tree) => this.keep(tree, key));
    const row = state.view === "callers" && this.chosen(state);
    if (!row || this.keyAround(row.id) === this.aroundKey) return null;
    return trees.sandwich(row.id).then((around) => this.keepAround(around, this.keyAround(row.id)));
  }

  private keep(tree: SampleTree, key: string): void {
    this.tree = tree;
    this.treeKey = key;
  }

  private keepAround(around: Sandwich, key: string): void {
    this.around = around;
    this.aroundKey = key;
  }

  private keyAround(group: number): string {
    return `${group} ${this.treeKey}`;
  }

  private keyOf(state: State): string {
    return JSON.stringify([this.typeIndex(state), this.filterKey(state), state.group, state.application, state.tagroot, state.tagleaf, this.profile.sampleCount]);
  }

  /** As DOINGS has them, of what the filters leave; null: the file does not say. */
  threadsDid(state: State): Float64Array | null {
    const key = JSON.stringify([this.filterKey(state), this.profile.sampleCount]);
    if (key !== this.didKey) this.did = whatThreadsDid(this.profile, this.filter(state), this.timeline.columnOf);
    this.didKey = key;
    return this.did;
  }

  private filterKey(state: State): unknown[] {
    return [state.focus, state.ignore, state.tagfocus, state.tagignore, state.only, state.range, state.last, this.comparison(state)];
  }

  /** In a comparison what it is about: the target. */
  filter(state: State): Filter {
    const target = this.comparison(state);
    return {
      focus: pattern(state.focus),
      ignore: pattern(state.ignore),
      tagfocus: pattern(state.tagfocus),
      tagignore: state.tagignore.map(tag).filter((one) => one !== null),
      only: state.only.map(tag).filter((one) => one !== null),
      windows: target?.by === "range" ? null : state.range === "" ? this.timeline.last(state.last) : parseRange(state.range),
      target,
    };
  }

  comparison(state: State): Comparison | null {
    const { compare, key, base, target, relative } = state;
    return compare === "" ? null : { by: compare, key, base, target, relative };
  }

  private question(state: State): Question {
    const comparison = this.comparison(state);
    return {
      type: this.typeIndex(state),
      filter: { ...this.filter(state), target: null },
      grouping: state.group,
      applicationOnly: state.application,
      tagroot: state.tagroot,
      tagleaf: state.tagleaf,
      comparison,
      columnOf: this.timeline.columnOf,
      positions: this.live?.positions().map(({ sample }) => sample) ?? [],
    };
  }
}

/** Source lines are a function's. */
function asOf(state: State): State {
  return state.view === "source" ? { ...state, group: "function", application: false } : state;
}

/** null where there is none, or none that is valid: the box says so. */
export function pattern(source: string, flags = ""): RegExp | null {
  if (source === "") return null;
  try {
    return new RegExp(source, flags);
  } catch {
    return null;
  }
}

export function tagText(key: string, value: string | null): string {
  return JSON.stringify([key, value]);
}

/** A list of two that an address holds; null when it is none. */
export function pair(text: string): [string, string | null] | null {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) && read.length === 2 && typeof read[0] === "string" ? [read[0], read[1] === null ? null : String(read[1])] : null;
  } catch {
    return null;
  }
}

function tag(text: string): Tag | null {
  const read = pair(text);
  return read && { key: read[0], value: read[1] };
}
