import type { Labels, Profile } from "./profile";
import { sideOf, TARGET, type Comparison } from "./sides";

/** A label's value, or that a sample has no such label. */
export interface Tag {
  key: string;
  value: string | null;
}

export interface Filter {
  focus: RegExp | null; // stacks with such a frame
  ignore: RegExp | null;
  tagfocus: RegExp | null; // samples with such a label value
  tagignore: Tag[];
  only: Tag[]; // samples that have all of these
  windows: [number, number] | null; // columns of the timeline, both within
  target: Comparison | null; // only what is of its target
}

export const NONE = "(none)";

/** Which samples a filter leaves, told once for each stack and each label set. */
export class Sieve {
  private readonly stacks: Uint8Array;
  private readonly labels: Uint8Array;
  private readonly range: [number, number] | null;
  private readonly side: ((sample: number) => number) | null;

  /** @param columnOf the timeline's column of each window */
  constructor(private readonly profile: Profile, filter: Filter, private readonly columnOf: ArrayLike<number>) {
    this.stacks = keptStacks(profile, filter);
    this.labels = Uint8Array.from(profile.labelSets, (labels) => Number(keepsLabels(labels, filter)));
    this.range = filter.windows;
    this.side = filter.target && sideOf(profile, filter.target, columnOf);
  }

  keeps(sample: number): boolean {
    if (!this.keepsWhenever(sample) || (this.side && (this.side(sample) & TARGET) === 0)) return false;
    if (!this.range) return true;
    const column = this.columnOf[this.profile.sampleWindow[sample]];
    return column >= this.range[0] && column <= this.range[1];
  }

  /** Whatever window it is of. */
  keepsWhenever(sample: number): boolean {
    const { sampleNode, sampleLabels } = this.profile;
    return this.stacks[sampleNode[sample]] !== 0 && this.labels[sampleLabels[sample]] !== 0;
  }
}

function keptStacks(profile: Profile, { focus, ignore }: Filter): Uint8Array {
  const { stacks, frames } = profile;
  const kept = new Uint8Array(stacks.size).fill(1);
  if (!focus && !ignore) return kept;
  const shown = frames.map((frame) => `${frame.name} ${frame.file}`);
  const focused = Uint8Array.from(shown, (text) => Number(!focus || focus.test(text)));
  const ignored = Uint8Array.from(shown, (text) => Number(ignore?.test(text) ?? false));
  const within = new Uint8Array(stacks.size);
  within[0] = focus ? 0 : 1;
  const without = new Uint8Array(stacks.size);
  for (let node = 1; node < stacks.size; node++) {
    const parent = stacks.parent[node];
    const frame = stacks.frame[node];
    within[node] = within[parent] | focused[frame];
    without[node] = without[parent] | ignored[frame];
  }
  for (let node = 0; node < stacks.size; node++) kept[node] = within[node] & ~without[node] & 1;
  return kept;
}

export function keepsLabels(labels: Labels, { tagfocus, tagignore, only }: Filter): boolean {
  if (tagfocus && ![...labels.values()].some((value) => tagfocus.test(value))) return false;
  const has = ({ key, value }: Tag) => (labels.get(key) ?? null) === value;
  return only.every(has) && !tagignore.some(has);
}

/** Names that begin with % are the VM's states: they come first. */
export function labelKeys(profile: Profile): string[] {
  const keys = new Set<string>();
  for (const labels of profile.labelSets) for (const key of labels.keys()) keys.add(key);
  return [...keys].sort((a, b) => Number(b.startsWith("%")) - Number(a.startsWith("%")) || (a < b ? -1 : 1));
}
