import { factsOf } from "../data/about";
import type { Fact } from "../data/profile";
import type { Tables } from "./pprof_tables";

/** Comments of ours and of rperf, which say what pprof has no field for. Those of other producers are shown as they are. */
const KNOWN: [pattern: RegExp, name: string, unit?: string, joined?: Fact["joined"]][] = [
  [/^application_name (.+)$/, "application"], [/^Ruby (\S.*)$/, "Ruby"], [/^mode (\S+)$/, "mode"], [/^frequency (\d+)(?: Hz)?$/, "frequency", "Hz"],
  [/^sampling_count (\d+)$/, "samples", "count", "sum"], [/^detected_thread_count (\d+)$/, "threads", "count", "most"], [/^(rperf(?:-push)? \S+)$/, "by"],
];
const LEFT_OUT = /^(?:trigger_count|sampling_time_ns|unique_frames|unique_stacks) /;
const MOST_COMMENTS = 5; // of others

/** @param text a text by its number */
export function pprofFacts({ comments, mappings, period, periodType }: Tables, text: (index: number) => string): Fact[] {
  const said = comments.map(text).filter((comment) => !LEFT_OUT.test(comment));
  const known = KNOWN.flatMap(([pattern, name, unit, joined]) => {
    const value = said.map((comment) => pattern.exec(comment)?.[1]).find((found) => found !== undefined);
    return value === undefined ? [] : factsOf([[name, unit ? Number(value) : value, unit, joined]]);
  });
  const others = said.filter((comment) => !KNOWN.some(([pattern]) => pattern.test(comment))).slice(0, MOST_COMMENTS);
  const often = known.some(({ name }) => name === "frequency") || text(periodType.unit) !== "nanoseconds" || period <= 0;
  const [program] = mappings.values(); // the first one is the program's own; of Ruby's it is always Ruby
  const ruby = known.some(({ name }) => name === "Ruby");
  return [
    ...factsOf([["program", ruby ? undefined : text(program ?? 0)]]), ...known,
    ...factsOf([["frequency", often ? undefined : Math.round(1e9 / period), "Hz"]]),
    ...factsOf(others.map((comment) => ["comment", comment])),
  ];
}
