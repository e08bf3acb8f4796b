import { expect, test } from 'vitest';
import { ByteEvents } from '../../src/lib/services/chat/byte_events';

const TEXT = ': ka\n\nevent: a\ndata: {"type":"a","t":"ü"}\n\n: queue position 3 of 16\n\ndata: {"type":"b"}\n\ndata: [DONE]\n\n';
const A = 'event: a\ndata: {"type":"a","t":"ü"}\n\n';
const bytesOf = (text: string) => new TextEncoder().encode(text);

test('events and offsets are the same however the bytes are cut, and comments do not count', () => {
	const all = bytesOf(TEXT);
	const first = bytesOf(A).length;
	for (let cut = 0; cut <= all.length; cut += 1) {
		const events = new ByteEvents();
		const found = [...events.push(all.slice(0, cut)), ...events.push(all.slice(cut))];
		expect(found).toEqual([
			{ data: { type: 'a', t: 'ü' }, offset: first },
			{ data: { type: 'b' }, offset: first + 'data: {"type":"b"}\n\n'.length }
		]);
	}
});

test('an event that was cut is not counted, so that the next reader begins before it', () => {
	const events = new ByteEvents(7);
	expect(events.push(bytesOf('data: {"type":"a"}\n\ndata: {"ty'))).toHaveLength(1);
	expect(events.offset).toBe(7 + 'data: {"type":"a"}\n\n'.length);
});
