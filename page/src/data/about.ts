import type { Fact, Window } from "./profile";
import { clock } from "./timeline";

const SHOWN = 3; // values of one thing that differ from file to file

/** A fact of all files that are shown: what they say, each thing once. */
export interface Told {
  name: string;
  values: Fact["value"][];
  unit: string;
}

const JOINED = { sum: (one: number, other: number) => one + other, most: Math.max };

export function about(windows: readonly Window[]): Told[] {
  const found = new Map<string, Told>();
  for (const { facts = [] } of windows) {
    for (const { name, value, unit = "", joined } of facts) {
      const told = found.get(name) ?? { name, values: [], unit };
      found.set(name, told);
      if (joined && told.values.length > 0) told.values[0] = JOINED[joined](Number(told.values[0]), Number(value));
      else if (!told.values.includes(value)) told.values.push(value);
    }
  }
  return [...found.values(), ...times(windows)].map(shortened);
}

function shortened(told: Told): Told {
  const others = told.values.length - SHOWN;
  return others > 0 ? { ...told, values: [...told.values.slice(0, SHOWN), `and ${others} more`] } : told;
}

/** From the first start to the last end; where a start is not known, how long they are together. */
function times(windows: readonly Window[]): Told[] {
  const dated = windows.every(({ start }) => start > 0);
  const [begin, end] = windows.reduce(([least, most], { start, duration }) => [Math.min(least, start), Math.max(most, start + duration)], [Infinity, 0]);
  const length = dated ? end - begin : windows.reduce((sum, { duration }) => sum + duration, 0);
  const told: Told[] = [];
  if (dated && windows.length > 0) told.push({ name: "began", values: [clock(begin)], unit: "" });
  if (length > 0) told.push({ name: "duration", values: [length], unit: "nanoseconds" });
  return told;
}

type Said = [name: string, value: unknown, unit?: string, joined?: Fact["joined"]];

/** What a file says: with a unit if it is a number, else text. What is none of these, or not said, is left out. */
export function factsOf(said: Said[]): Fact[] {
  return said.flatMap(([name, value, unit, joined]): Fact[] => {
    if (typeof value === "number" && unit !== undefined && value > 0 && value < Infinity) return [{ name, value, unit, joined }];
    return typeof value === "string" && unit === undefined && value !== "" ? [{ name, value }] : [];
  });
}
