import type { SampleTree } from "./sample_tree";

/** What SVG shows without a wait. */
const MOST_BOXES = 3000;
const LEAST_PART = 1e-6;

/** A node of the call tree as a graph draws it. What is too narrow to be seen is no box until somebody comes closer. */
export interface Box {
  name: string;
  value: number; // of what is seen of it
  weight: number; // of all of it
  start: number; // of what is seen, in the tree's amounts from the left
  children: Box[];
  node: number;
}

/** Shares of the whole width, from the left. */
export type Part = [from: number, to: number];
export const ALL: Part = [0, 1];

/** As it is in an address; null: all, or nothing that can be shown. */
export function parsePart(text: string): Part | null {
  const found = /^([\d.]+)-([\d.]+)$/.exec(text);
  const [from, to] = [Number(found?.[1]), Number(found?.[2])];
  return from >= 0 && to <= 1 && to - from >= LEAST_PART ? [from, to] : null;
}

/** The heaviest first, and by name. */
export function inOrder(a: { weight: number; name: string }, b: { weight: number; name: string }): number {
  return b.weight - a.weight || (a.name < b.name ? -1 : Number(a.name > b.name));
}

/** Boxes of at least a pixel, or as wide as it takes for them not to be too many. @param part of the top box: what is seen */
export function boxesBelow(tree: SampleTree, top: number, width: number, part: Part = ALL): Box {
  const whole = tree.weight(top);
  const [least, most] = [part[0] * whole, part[1] * whole];
  for (let pixels = 1; ; pixels *= 2) {
    const smallest = ((most - least) * pixels) / width;
    const first: Box = { name: tree.name(top), value: most - least, weight: whole, start: least, children: [], node: top };
    const pending: [box: Box, start: number][] = [[first, 0]];
    let count = 0;
    while (pending.length > 0 && count <= MOST_BOXES) {
      const [box, left] = pending.pop()!;
      count++;
      let at = left;
      for (const { node, name, weight } of wide(tree, box.node, smallest)) {
        const start = Math.max(at, least);
        const value = Math.min(at + weight, most) - start;
        if (value > 0) {
          const child: Box = { name, value, weight, start, children: [], node };
          box.children.push(child);
          pending.push([child, at]);
        }
        at += weight;
      }
    }
    if (count <= MOST_BOXES) return first;
  }
}

function wide(tree: SampleTree, node: number, smallest: number) {
  const found = [];
  for (let child = tree.first[node]; child > 0; child = tree.next[child]) {
    const weight = tree.weight(child);
    if (weight >= smallest && weight > 0) found.push({ node: child, name: tree.name(child), weight });
  }
  return found.sort(inOrder);
}

/** Where a node is drawn, as shares of the whole width. */
export function partOf(tree: SampleTree, node: number): Part {
  const whole = tree.weight(0) || 1;
  let start = 0;
  for (let at = node; at > 0; at = tree.parent[at]) {
    const own = { weight: tree.weight(at), name: tree.name(at) };
    for (let other = tree.first[tree.parent[at]]; other > 0; other = tree.next[other]) {
      const weight = tree.weight(other);
      if (other !== at && inOrder({ weight, name: tree.name(other) }, own) < 0) start += weight;
    }
  }
  return [start / whole, (start + tree.weight(node)) / whole];
}
