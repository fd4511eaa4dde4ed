import type { SampleTree } from "../data/sample_tree";
import { h } from "./dom";
import { change, growth } from "./numbers";

/** What both sides of a comparison come to, as they are. */
export function comparedLine(tree: SampleTree, name: string, unit: string): HTMLElement {
  const [before, after] = [tree.baseTotal![0] / tree.scale, tree.total[0]];
  const errors = tree.scale === 1 ? ` (${change(after - before, unit)})` : "";
  return h("p", { id: "compared" }, `${name}: `, h("strong", {}, growth(before, after, unit)), errors,
    tree.scale !== 1 && `. Shares are compared: amounts of the base are multiplied by ${tree.scale.toPrecision(3)}`);
}
