export interface Location {
  id: number;
  mapping: number;
  address: number;
  lines: { function: number; line: number }[]; // the innermost first
}
interface FunctionEntry {
  id: number;
  name: number;
  file: number;
}

/** Everything but the samples, which refer to what may stand after them: of those only where they are. */
export class Tables {
  strings: string[] = [];
  types: { type: number; unit: number }[] = [];
  locations: Location[] = [];
  functions = new Map<number, FunctionEntry>();
  mappings = new Map<number, number>(); // id => the file's name
  samples: number[] = []; // begin, end, begin, end ...
  time = 0;
  duration = 0;
  period = 0;
  periodType = { type: 0, unit: 0 };
  comments: number[] = [];
  defaultType = 0;
}
