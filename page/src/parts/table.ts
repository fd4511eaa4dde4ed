import { h } from "./dom";

export interface Column<Row> {
  key: string;
  title: string;
  value(row: Row): number | string; // what it is sorted by
  text?(row: Row): string;
  hint?(row: Row): string; // said where the pointer is
  share?(row: Row): number; // of all: drawn as a bar, too
  cell?(row: Row): Node;
}

const MOST_ROWS = 500;

/** A table that a click on a column sorts: numbers the largest first, text from A to Z, a second click the other way. */
export function sortedTable<Row>(options: {
  caption: string;
  rows: Row[];
  columns: Column<Row>[];
  sort: string;
  first: string; // the column that it is sorted by to begin with
  sortBy(sort: string): void;
  whole: Set<string>; // captions of tables whose rows are all shown, also when they are drawn again
  most?: number; // rows that are shown at first: a browser lays out some thousand in a second
}): HTMLElement {
  const { rows, columns, sort, caption, whole } = options;
  const most = whole.has(caption) ? Infinity : options.most ?? MOST_ROWS;
  const reversed = sort.startsWith("-");
  const by = columns.find((column) => column.key === sort.replace(/^-/, "")) ?? columns.find((column) => column.key === options.first)!;
  const sorted = [...rows].sort((a, b) => (reversed ? -1 : 1) * order(by.value(a), by.value(b)));
  const body = h("tbody", {});
  const show = (count: number) => body.replaceChildren(...sorted.slice(0, count).map((row) => line(row, columns)));
  show(most);
  const more = rows.length > most && h("button", { onclick: () => { whole.add(caption); show(rows.length); (more as HTMLElement).remove(); } }, `Show all ${rows.length} rows`);
  const heads = columns.map((column) => {
    const direction = column !== by ? null : (typeof column.value(rows[0] ?? ({} as Row)) === "number") !== reversed ? "descending" : "ascending";
    const next = column === by && !reversed ? `-${column.key}` : column.key;
    return h("th", { scope: "col", "aria-sort": direction }, column.title !== "" && h("button", { "data-sort": column.key, onclick: () => options.sortBy(next) }, column.title));
  });
  return h("div", { class: "table-holder" },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body), more);
}

/** Numbers the largest first, text from A to Z. */
export function order(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return b - a;
  return String(a) < String(b) ? -1 : Number(String(a) > String(b));
}

function line<Row>(row: Row, columns: Column<Row>[]): HTMLTableRowElement {
  return h("tr", {}, columns.map((column) => {
    if (column.cell) return h("td", {}, column.cell(row));
    const value = column.value(row);
    const cell = h("td", { class: typeof value === "number" ? "number" : null, title: column.hint?.(row) || null }, typeof value === "number" ? column.text?.(row) ?? String(value) : h("span", { class: "clamped" }, column.text?.(row) ?? value));
    if (column.share) {
      cell.classList.add("share");
      cell.style.setProperty("--share", `${Math.min(Math.max(column.share(row) * 100, 0), 100) || 0}%`);
    }
    return cell;
  }));
}
