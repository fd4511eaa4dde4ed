import { DOINGS } from "../data/doing";
import { h, legend } from "./dom";
import { percent, quantity } from "./numbers";

const LEAST_SHARE = 0.0005;

/** Amounts as one bar; it says in words what it shows. */
export function doingBar(amounts: ArrayLike<number>, text = described(amounts)): HTMLElement {
  const whole = sum(amounts);
  return h("span", { class: "doing", role: "img", title: text, "aria-label": text }, shown(amounts).map(({ key, amount }) => {
    const part = h("span", { class: key });
    part.style.flexGrow = String(amount / whole);
    return part;
  }));
}

/** The bar with its legend. */
export function doingLine(amounts: ArrayLike<number>): HTMLElement {
  const whole = sum(amounts);
  return h("div", { class: "doing-line" }, h("span", {}, `${quantity(whole, "nanoseconds")} of threads' time`), doingBar(amounts),
    legend(shown(amounts).map(({ key, name, amount }) => [key, `${name} ${percent(amount, whole)}`])));
}

/** The largest first. */
export function described(amounts: ArrayLike<number>): string {
  const whole = sum(amounts);
  return [...shown(amounts)].sort((a, b) => b.amount - a.amount).map(({ name, amount }) => `${name} ${percent(amount, whole)}`).join(", ");
}

function shown(amounts: ArrayLike<number>) {
  const whole = sum(amounts);
  return DOINGS.map((doing, index) => ({ ...doing, amount: amounts[index] })).filter(({ amount }) => amount > whole * LEAST_SHARE);
}

function sum(amounts: ArrayLike<number>): number {
  return DOINGS.reduce((before, _, index) => before + amounts[index], 0);
}
