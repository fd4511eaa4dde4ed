import type { Told } from "../data/about";
import { h } from "./dom";
import { quantity } from "./numbers";

/** One line: what the files say of themselves. */
export function aboutLine(facts: Told[]): HTMLElement {
  return h("dl", {}, facts.map(({ name, values, unit }) => {
    const text = values.map((value) => (typeof value === "number" ? quantity(value, unit) : value)).join(", ");
    return h("div", {}, h("dt", {}, name), h("dd", { title: text }, text));
  }));
}
