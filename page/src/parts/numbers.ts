const STEPS: Record<string, [number, string][]> = {
  nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]],
  microseconds: [[1e6, "s"], [1e3, "ms"]],
  bytes: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]],
};
const SMALLEST: Record<string, string> = { nanoseconds: "ns", microseconds: "µs", bytes: "B", count: "" };

/** By how many digits follow the point: to make one takes longer than to use it a hundred times, and each box of a graph has numbers. */
const FORMATS = [0, 1, 2].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

/** "1.23 s", "4,096 samples" */
export function quantity(amount: number, unit: string): string {
  const step = STEPS[unit]?.find(([size]) => Math.abs(amount) >= size);
  const number = step ? amount / step[0] : amount;
  const digits = step ? (Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2) : 0;
  return `${FORMATS[digits].format(number)} ${step?.[1] ?? SMALLEST[unit] ?? unit}`.trimEnd();
}

export function percent(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (part * 100) / whole).toFixed(1)} %`;
}

export function change(amount: number, unit: string): string {
  return `${amount > 0 ? "+" : ""}${quantity(amount, unit)}`;
}

/** "278 → 896 ms, +223 %" */
export function growth(before: number, after: number, unit: string): string {
  const [from, to] = [quantity(before, unit), quantity(after, unit)];
  const same = from.replace(/^[^ ]* ?/, "") === to.replace(/^[^ ]* ?/, "") || before === 0;
  const grown = before === 0 ? (after === 0 ? "" : ", new") : `, ${after > before ? "+" : ""}${rate(((after - before) * 100) / before)} %`;
  return `${same ? from.split(" ")[0] : from} → ${to}${grown}`;
}

function rate(percent: number): string {
  return FORMATS[Math.abs(percent) < 9.95 ? 1 : 0].format(percent);
}

/** " ± 12.0 ms", of two standard errors; nothing where the file does not say them, and of what is exact. */
export function error(amount: number | null, unit: string): string {
  return amount === null || amount === 0 ? "" : ` ± ${quantity(amount, unit)}`;
}

const LONGEST = 120;

/** A name as a line of text can hold it: the end says more than the middle. */
export function shortened(name: string): string {
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST / 2)} … ${name.slice(-LONGEST / 3)}`;
}
