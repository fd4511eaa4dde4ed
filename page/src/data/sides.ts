import type { Profile } from "./profile";

/** What is compared: two ranges of files or of time, or two values of a label. */
export interface Comparison {
  by: "side" | "range" | "label";
  key: string; // of the label
  base: string; // "FROM-TO" in columns of the timeline, or the label's value
  target: string;
  relative: boolean; // shares are compared: the base is scaled to the target's total
}

export const BASE = 1;
export const TARGET = 2;

/** To which side a sample belongs: none (0), BASE, TARGET, or both. */
export function sideOf(profile: Profile, comparison: Comparison, columnOf: ArrayLike<number>): (sample: number) => number {
  const bits = (base: boolean, target: boolean) => (base ? BASE : 0) | (target ? TARGET : 0);
  const { by, key, base, target } = comparison;
  if (by === "label") {
    const ofSet = profile.labelSets.map((labels) => bits((labels.get(key) ?? "") === base, (labels.get(key) ?? "") === target));
    return (sample) => ofSet[profile.sampleLabels[sample]];
  }
  const ofWindow = profile.windows.map(({ side }, window) => {
    if (by === "side") return bits(side === "base", side === "target");
    return bits(within(columnOf[window], base), within(columnOf[window], target));
  });
  return (sample) => ofWindow[profile.sampleWindow[sample]];
}

function within(column: number, range: string): boolean {
  const [from, to] = parseRange(range);
  return column >= from && column <= to;
}

/** The column of a range of one; -1: it is none. */
export function onlyColumn(range: string): number {
  const [from, to] = parseRange(range);
  return from === to ? from : -1;
}

export function parseRange(range: string): [number, number] {
  const found = /^(\d+)(?:-(\d+))?$/.exec(range);
  return found ? [Number(found[1]), Number(found[2] ?? found[1])] : [-1, -1];
}
