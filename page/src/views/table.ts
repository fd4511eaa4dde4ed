import type { SampleTree, Row } from "../data/sample_tree";
import { functions } from "../data/functions";
import { pattern } from "../model";
import { h } from "../parts/dom";
import { change, error, percent, quantity } from "../parts/numbers";
import { sortedTable, type Column } from "../parts/table";
import type { Shown } from "./shown";

export function tableView({ model, state, store, place, say }: Shown): HTMLElement {
  const tree = model.sampleTree(state);
  const { name, unit } = model.type(state);
  const search = pattern(state.search, "i");
  const rows = functions(tree).filter((row) => !search || search.test(row.group.name) || search.test(row.group.file));
  say(`${rows.length} rows, ${quantity(tree.total[0], unit)} in all`);
  const columns = tree.baseTotal ? comparedColumns(tree, unit) : plainColumns(tree, unit);
  columns.push({ key: "name", title: title(state.group), value: (row) => row.group.name, cell: (row) => nameCell(row, (method) => store.set({ view: "callers", method }, true)) });
  if (state.group === "function") columns.push({ key: "file", title: "File", value: (row) => row.group.file });
  return sortedTable({
    caption: `${name}: ${tree.baseTotal ? `what grew and what shrank${state.relative ? ", by shares: the base is scaled to the target" : ""}` : "self and total amounts"}`,
    rows, columns, whole: place.whole, sort: state.sort, first: tree.baseTotal ? "change" : "self", sortBy: (sort) => store.set({ sort }, false),
  });
}

function title(group: string): string {
  return group[0].toUpperCase() + group.slice(1);
}

function plainColumns(tree: SampleTree, unit: string): Column<Row>[] {
  const whole = tree.total[0];
  return [
    { key: "self", title: "Self", value: (row) => row.self, text: (row) => quantity(row.self, unit), hint: (row) => error(row.selfError, unit).trim() },
    { key: "self_share", title: "Self %", value: (row) => row.self, text: (row) => percent(row.self, whole), share: (row) => row.self / whole },
    { key: "total", title: "Total", value: (row) => row.total, text: (row) => quantity(row.total, unit), hint: (row) => error(row.totalError, unit).trim() },
    { key: "total_share", title: "Total %", value: (row) => row.total, text: (row) => percent(row.total, whole), share: (row) => row.total / whole },
  ];
}

function comparedColumns(tree: SampleTree, unit: string): Column<Row>[] {
  const amount = (key: string, title: string, value: (row: Row) => number): Column<Row> => ({ key, title, value, text: (row) => quantity(value(row), unit) });
  const grown = (key: string, title: string, value: (row: Row) => number, errorOf: (row: Row) => number | null): Column<Row> => ({
    key, title, value, text: (row) => `${change(value(row), unit)}${error(errorOf(row), unit)} (${value(row) > 0 ? "+" : ""}${percent(value(row), tree.total[0])})`,
  });
  return [
    grown("change", "Change of self", (row) => row.self - row.baseSelf, (row) => row.selfError),
    amount("base", "Self before", (row) => row.baseSelf),
    amount("self", "Self after", (row) => row.self),
    grown("total_change", "Change of total", (row) => row.total - row.baseTotal, (row) => row.totalError),
    amount("base_total", "Total before", (row) => row.baseTotal),
    amount("total", "Total after", (row) => row.total),
  ];
}

export function nameCell(row: Row, chosen: (method: string) => void): HTMLElement {
  return h("button", { class: "name", title: "Callers and callees", onclick: () => chosen(JSON.stringify([row.group.name, row.group.file])) },
    h("span", { class: `swatch ${row.group.origin}` }), row.group.name);
}
