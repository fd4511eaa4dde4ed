import { callTree, type CallTree, type Question } from "./data/call_tree";
import type { Filter, Tag } from "./data/filter";
import type { Profile, ValueType } from "./data/profile";
import { parseRange, type Comparison } from "./data/sides";
import type { Live } from "./data/source";
import { Timeline } from "./data/timeline";
import type { State } from "./parts/state";

/** The profile as the state asks for it. The call tree is kept until something that it depends on changes. */
export class Model {
  timeline: Timeline;
  private tree: CallTree | null = null;
  private treeKey = "";

  constructor(readonly profile: Profile, private readonly live?: Live) {
    this.timeline = new Timeline(profile, live !== undefined);
  }

  /** The profile has grown. */
  refresh(): void {
    this.timeline = new Timeline(this.profile, this.live !== undefined);
    this.tree = null;
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

  callTree(state: State): CallTree {
    const question = this.question(state);
    const key = JSON.stringify([question.type, state.focus, state.ignore, state.tagfocus, state.tagignore, state.only, state.range, state.last, state.group,
      state.application, state.tagroot, state.tagleaf, question.comparison, this.profile.sampleCount]);
    if (!this.tree || key !== this.treeKey) {
      this.tree = callTree(this.profile, question);
      this.treeKey = key;
    }
    return this.tree;
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
    const { compare, key, base, target, absolute } = state;
    return compare === "" ? null : { by: compare, key, base, target, absolute };
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
