import { linesOf } from "../data/lines";
import { h } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import type { Shown } from "./shown";

const AROUND = 3; // lines before the first and after the last one that has an amount

/** The lines of a function, with its source where that is at hand. */
export function sourceView({ model, state, source, say }: Shown): HTMLElement {
  const tree = model.sampleTree(state);
  const row = model.chosen(state);
  if (!row) return h("p", {}, "Nothing is left by the filters.");

  const { unit } = model.type(state);
  const lines = linesOf(model.profile, model.typeIndex(state), model.filter(state), model.timeline.columnOf, row.group.name, row.group.file);
  const known = new Map(lines.map((line) => [line.number, line]));
  const body = h("tbody", {});
  const show = (text: string[] | null) => {
    const numbers = text ? around(lines.map((line) => line.number), text.length) : lines.map((line) => line.number);
    body.replaceChildren(...numbers.map((number) => {
      const line = known.get(number);
      const cell = (amount: number | undefined) => h("td", { class: "number" }, amount ? `${quantity(amount, unit)} ${percent(amount, tree.total[0])}` : "");
      return h("tr", { class: line ? "hot" : null }, cell(line?.self), cell(line?.total), h("td", { class: "number" }, number === 0 ? "?" : String(number)),
        h("td", {}, h("code", {}, text?.[number - 1] ?? "")));
    }));
    say(text ? "" : `The source of ${row.group.file || "C functions"} is not at hand: lines have their numbers only.`);
  };
  show(null);
  if (lines.some((line) => line.number > 0)) void source.lines(row.group.file).then((text) => text && fits(text, lines) && show(text), () => undefined);
  return h("div", {}, h("h2", {}, row.group.name, " ", h("small", {}, row.group.file)),
    h("div", { class: "table-holder" }, h("table", { class: "code" }, h("caption", {}, "Lines"),
      h("thead", {}, h("tr", {}, ["Self", "Total", "Line", "Source"].map((text) => h("th", { scope: "col" }, text)))), body)));
}

/** A file that is shorter is not the one that ran. */
function fits(text: string[], lines: { number: number }[]): boolean {
  return text.length >= Math.max(...lines.map((line) => line.number));
}

function around(numbers: number[], length: number): number[] {
  const given = numbers.filter((number) => number > 0);
  const from = Math.max(Math.min(...given) - AROUND, 1);
  const to = Math.min(Math.max(...given) + AROUND, length);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
