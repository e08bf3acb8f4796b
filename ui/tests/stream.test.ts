import { expect, test, vi } from 'vitest';

vi.mock('$app/paths', () => ({ base: '/prefix/ui' }));
const { EventParser } = await import('../src/lib/api/stream');
const { API_ROOT } = await import('../src/lib/api/client');

const TEXT = ': ka\n\ndata: {"type":"model"}\n\nid: 5-0\nevent: state\ndata: {"n":\ndata: 1}\n\n';

test('the events are the same however the text is cut', () => {
	for (let cut = 0; cut <= TEXT.length; cut += 1) {
		const parser = new EventParser();
		const events = [...parser.push(TEXT.slice(0, cut)), ...parser.push(TEXT.slice(cut))];
		expect(events).toEqual([
			{ id: undefined, data: { type: 'model' } },
			{ id: '5-0', data: { n: 1 } }
		]);
	}
});

test('the API is beside the pages, below the prefix of a proxy', () => {
	expect(API_ROOT).toBe('/prefix');
});
