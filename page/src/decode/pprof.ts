import { PbfReader } from "pbf";
import type { GrowingProfile } from "../data/growing_profile";
import type { Side } from "../data/profile";
import { pprofFacts } from "./pprof_facts";
import { Samples } from "./pprof_samples";
import { Tables, type Location } from "./pprof_tables";

/** Numbers of profile.proto's fields. */
const PROFILE = { sampleType: 1, sample: 2, mapping: 3, location: 4, function: 5, string: 6, time: 9, duration: 10, periodType: 11, period: 12, comment: 13, default: 14 };

export function decodePprof(bytes: Uint8Array, name: string, side: Side, profile: GrowingProfile): void {
  const pbf = new PbfReader(bytes);
  const tables = pbf.readFields(readTables, new Tables());
  if (tables.types.length === 0 || tables.strings[0] !== "") throw new Error("not a profile that this page reads");

  const text = (index: number) => tables.strings[index] ?? "";
  const columns = tables.types.map(({ type, unit }) => profile.type(text(type), text(unit)));
  const last = tables.types[tables.types.length - 1];
  profile.defaultType ||= text(tables.defaultType) || text(last.type);
  const window = profile.addWindow({ name, start: tables.time, duration: tables.duration, side, types: columns, facts: pprofFacts(tables, text) });
  new Samples(tables, profile, columns, window, bytes).read();
}

function readTables(tag: number, tables: Tables, pbf: PbfReader): void {
  switch (tag) {
    case PROFILE.sampleType: tables.types.push(readType(pbf)); break;
    case PROFILE.sample: {
      const end = pbf.readVarint() + pbf.pos;
      if (end > pbf.length) throw new Error("cut short");
      tables.samples.push(pbf.pos, end);
      pbf.pos = end;
      break;
    }
    case PROFILE.mapping: {
      const mapping = pbf.readMessage((field, one, at) => {
        if (field === 1) one.id = at.readVarint();
        else if (field === 5) one.file = at.readVarint();
      }, { id: 0, file: 0 });
      tables.mappings.set(mapping.id, mapping.file);
      break;
    }
    case PROFILE.location: tables.locations.push(readLocation(pbf)); break;
    case PROFILE.function: {
      const entry = pbf.readMessage((field, one, at) => {
        if (field === 1) one.id = at.readVarint();
        else if (field === 2) one.name = at.readVarint();
        else if (field === 4) one.file = at.readVarint();
      }, { id: 0, name: 0, file: 0 });
      tables.functions.set(entry.id, entry);
      break;
    }
    case PROFILE.string: tables.strings.push(pbf.readString()); break;
    case PROFILE.time: tables.time = pbf.readVarint(true); break;
    case PROFILE.duration: tables.duration = pbf.readVarint(true); break;
    case PROFILE.periodType: tables.periodType = readType(pbf); break;
    case PROFILE.period: tables.period = pbf.readVarint(true); break;
    case PROFILE.comment:
      if (pbf.type === 2) pbf.readPackedVarint(tables.comments);
      else tables.comments.push(pbf.readVarint());
      break;
    case PROFILE.default: tables.defaultType = pbf.readVarint(); break;
  }
}

function readType(pbf: PbfReader): { type: number; unit: number } {
  return pbf.readMessage((field, type, at) => {
    if (field === 1) type.type = at.readVarint();
    else if (field === 2) type.unit = at.readVarint();
  }, { type: 0, unit: 0 });
}

function readLocation(pbf: PbfReader): Location {
  return pbf.readMessage((field, location: Location, at) => {
    if (field === 1) location.id = at.readVarint(true); // as samples name it
    else if (field === 2) location.mapping = at.readVarint();
    else if (field === 3) location.address = at.readVarint();
    else if (field === 4) {
      location.lines.push(at.readMessage((part, line, here) => {
        if (part === 1) line.function = here.readVarint();
        else if (part === 2) line.line = here.readVarint(true);
      }, { function: 0, line: 0 }));
    }
  }, { id: 0, mapping: 0, address: 0, lines: [] });
}
