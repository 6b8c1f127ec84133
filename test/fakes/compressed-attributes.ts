import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** What a client puts into istio.mixer.v1.CompressedAttributes, by field and by word index. */
export interface Compressed {
  readonly words?: readonly string[];
  readonly strings?: readonly (readonly [number, number])[];
  readonly int64s?: readonly (readonly [number, bigint])[];
  readonly doubles?: readonly (readonly [number, number])[];
  readonly bools?: readonly (readonly [number, boolean])[];
  /** Seconds and nanoseconds. */
  readonly timestamps?: readonly (readonly [number, readonly [bigint, number]])[];
  readonly durations?: readonly (readonly [number, readonly [bigint, number]])[];
  readonly bytes?: readonly (readonly [number, readonly number[]])[];
  readonly string_maps?: readonly (readonly [number, readonly (readonly [number, number])[]])[];
}

/** The bytes of a CompressedAttributes message. */
export function compressed(parts: Compressed): Uint8Array {
  const writer = new BinaryWriter();
  for (const word of parts.words ?? []) writer.tag(1, WireType.LengthDelimited).string(word);
  const entries = <T>(field: number, list: readonly (readonly [number, T])[] | undefined, write: (value: T) => void): void => {
    for (const [index, value] of list ?? []) {
      writer.tag(field, WireType.LengthDelimited).fork().tag(1, WireType.Varint).sint32(index);
      write(value);
      writer.join();
    }
  };
  const span = ([seconds, nanos]: readonly [bigint, number]): void => {
    writer.tag(2, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.Varint).int64(seconds).tag(2, WireType.Varint).int32(nanos);
    writer.join();
  };
  entries(2, parts.strings, (value) => writer.tag(2, WireType.Varint).sint32(value));
  entries(3, parts.int64s, (value) => writer.tag(2, WireType.Varint).int64(value));
  entries(4, parts.doubles, (value) => writer.tag(2, WireType.Bit64).double(value));
  entries(5, parts.bools, (value) => writer.tag(2, WireType.Varint).bool(value));
  entries(6, parts.timestamps, span);
  entries(7, parts.durations, span);
  entries(8, parts.bytes, (value) => writer.tag(2, WireType.LengthDelimited).bytes(Uint8Array.from(value)));
  entries(9, parts.string_maps, (pairs) => {
    writer.tag(2, WireType.LengthDelimited).fork();
    for (const [key, value] of pairs) {
      writer.tag(1, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.Varint).sint32(key).tag(2, WireType.Varint).sint32(value);
      writer.join();
    }
    writer.join();
  });
  return writer.finish();
}
