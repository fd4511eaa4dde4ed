import type { SampleTree, Question } from "../data/sample_tree";
import type { Profile, Side } from "../data/profile";
import type { Sandwich } from "../data/sandwich";

/** To the thread that reads: a file, or that there are no more; then questions. */
export type Order = { bytes: Uint8Array<ArrayBuffer>; name: string; side: Side; maxBytes: number } | { end: true } | Asked;
export type Asked = { question: Question } | { sandwich: number };
/** From it, for each file, at the end, and for each question. */
export type Answer = { read: string } | { failed: string } | { profile: Profile; took: Record<string, number> } | Answered | { unanswered: string };
export type Answered = { tree: SampleTree; took: number } | { sandwich: Sandwich; took: number };

const LARGE = 100_000; // nodes: a call tree of fewer is there at once

/** Whether its call trees are to be made in the thread that has read it. */
export function isLarge({ stacks }: Profile): boolean {
  return stacks.size > LARGE;
}
