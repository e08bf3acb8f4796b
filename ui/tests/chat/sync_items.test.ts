import { describe, expect, test } from 'vitest';
import type { AnswerMessage, Attachment, Message, UserMessage } from '../../src/lib/chat_types';
import { newAnswer, newToolMessage, newUserMessage } from '../../src/lib/services/chat/new_records';
import { itemId, messageId } from '../../src/lib/services/chat/sync/item_ids';
import { inputItem, isWhole, itemsOf } from '../../src/lib/services/chat/sync/items_of';
import { messagesOf, type Item } from '../../src/lib/services/chat/sync/messages_of';

const picture = (id: string): Attachment => ({
	id,
	conversation: 'c',
	name: 'dot.png',
	type: 'image/png',
	kind: 'image',
	bytes: 3,
	content: new Blob(['png'], { type: 'image/png' }),
	pages: [],
	text: '',
	fileId: null
});

/** The messages as items, in the form in which the platform lists them. */
async function listed(messages: Message[], files: Attachment[] = []): Promise<Item[]> {
	const found: Item[] = [];
	const last = new Map<string | null, string>();
	for (const message of messages) {
		const items = await itemsOf(message, last.get(message.parent) ?? null, files);
		for (const item of items) {
			const content = typeof item.content === 'string' ? [{ type: 'input_text', text: item.content }] : item.content;
			found.push({ ...item, content } as unknown as Item);
		}
		last.set(message.id, (items.at(-1) as { id: string }).id);
	}
	return found;
}

const usage = { inputTokens: 5, cachedTokens: 2, outputTokens: 7, reasoningTokens: 3 };

test('ids of messages and items belong together', () => {
	const id = '0189a1b2-c3d4-4e5f-8a9b-0c1d2e3f4a5b';
	expect(itemId('msg', id)).toBe('msg_0189a1b2c3d44e5f8a9b0c1d2e3f4a5b');
	expect(messageId('msg_0189a1b2c3d44e5f8a9b0c1d2e3f4a5b')).toBe(id);
	expect(messageId('msg_7c3f0a52')).toBe('msg_7c3f0a52');
	for (const odd of ['msg_7c3f0a52', 'x', 'ä-ö', 'y'.repeat(200)]) expect(itemId('fc', odd, 12)).toMatch(/^[a-z]{2,5}_[A-Za-z0-9-]{8,64}$/);
});

test('a tree of messages comes back with its branches, its reasoning, its calls and what is known of it', async () => {
	const asked = newUserMessage('c', null, 'How?', []);
	const times = { sentAt: 1_000, firstTokenMs: 20, totalMs: 900, tokensPerSecond: 61.5 };
	const given = { status: 'done', reasoning: 'Hm.', reasoningMs: 300, text: 'So.', usage, times, responseId: 'resp_1' } as const;
	const answer = newAnswer('c', asked.id, 'stub', { ...given, calls: [{ id: 'call_1', name: 'read', arguments: '{}' }] });
	const result = newToolMessage('c', answer.id, { callId: 'call_1', name: 'read', output: 'text', isError: false });
	const second = newAnswer('c', asked.id, 'other', { text: 'Else.', status: 'stopped', isSecond: true });
	const failed = newAnswer('c', asked.id, 'stub', { text: 'Be', status: 'failed', error: { code: 'engine_crashed', message: 'dead', param: null, retryAfter: null } });
	const messages = [asked, answer, result, second, failed];
	const items = await listed(messages);
	expect(items.map(({ type }) => type)).toEqual(['message', 'reasoning', 'message', 'function_call', 'function_call_output', 'message', 'message']);
	const read = messagesOf(items, 'c', new Map());
	expect(read.messages.map(({ id, parent, role }) => [id, parent, role])).toEqual(messages.map(({ id, parent, role }) => [id, parent, role]));
	const [, back, backResult, backSecond, backFailed] = read.messages as [UserMessage, AnswerMessage, Message, AnswerMessage, AnswerMessage];
	expect(back).toMatchObject({ status: 'done', text: 'So.', reasoning: 'Hm.', reasoningMs: 300, usage, model: 'stub', responseId: 'resp_1', calls: answer.calls });
	expect(back.times).toMatchObject({ firstTokenMs: 20, totalMs: 900, tokensPerSecond: 61.5 });
	expect(back.itemIds).toEqual(items.slice(1, 4).map(({ id }) => id));
	expect(backResult).toMatchObject({ callId: 'call_1', name: 'read', output: 'text' });
	expect(backSecond).toMatchObject({ status: 'stopped', isSecond: true });
	expect(backFailed).toMatchObject({ status: 'failed', error: { code: 'engine_crashed', message: 'dead' } });
	// the same message is the same item, byte by byte: a repeated push adds nothing
	expect(JSON.stringify(await listed(messages))).toBe(JSON.stringify(items));
});

test('a result that is an error is one on the other device, too', async () => {
	const answer = newAnswer('c', null, 'stub', { status: 'done', calls: ['a', 'b'].map((id) => ({ id, name: 'read', arguments: '{}' })) });
	const failed = newToolMessage('c', answer.id, { callId: 'a', name: 'read', output: 'no such file', isError: true });
	const fine = newToolMessage('c', failed.id, { callId: 'b', name: 'read', output: 'text', isError: false });
	const read = messagesOf(await listed([answer, failed, fine]), 'c', new Map());
	expect(read.messages.flatMap((message) => (message.role === 'tool' ? [message.isError] : []))).toEqual([true, false]);
	// a request says it in the same way
	expect(await inputItem(failed, [])).toMatchObject({ status: 'incomplete' });
});

test('items that are here already give no message, and others find their place', async () => {
	const asked = newUserMessage('c', null, 'How?', []);
	const answer = newAnswer('c', asked.id, 'stub', { status: 'done', text: 'So.' });
	const items = await listed([asked, answer]);
	const known = new Map([[(items[0] as Item).id, 'here']]);
	const read = messagesOf(items, 'c', known);
	expect(read.messages).toHaveLength(1);
	expect(read.messages[0]?.parent).toBe('here');
});

describe('attachments', () => {
	test('of a message come back as files', async () => {
		const text: Attachment = { ...picture('t'), kind: 'text', name: 'a.py', type: 'text/plain', content: new Blob(['x = 1']), text: 'x = 1' };
		const pdf: Attachment = { ...picture('p'), kind: 'pdf', name: 'Scan.pdf', type: 'application/pdf', pages: [picture('').content, picture('').content] };
		const asked = newUserMessage('c', null, 'Look.', ['i', 't', 'p']);
		const read = messagesOf(await listed([asked], [picture('i'), text, pdf]), 'c', new Map());
		expect(read.attachments.map(({ kind, name, pages }) => [kind, name, pages.length])).toEqual([
			['image', 'image', 0],
			['text', 'a.py', 0],
			['pdf', 'Scan.pdf', 2]
		]);
		expect(read.messages[0]).toMatchObject({ text: 'Look.', attachments: read.attachments.map(({ id }) => id) });
		expect(await read.attachments[1]?.content.text()).toBe('x = 1');
	});

	test('of types that a browser would run are lines that name them', () => {
		const parts = [
			{ type: 'input_image', image_url: 'data:image/svg+xml;base64,PHN2Zz4=' },
			{ type: 'input_image', image_url: 'https://example.org/a.png' },
			{ type: 'input_file', filename: 'a.html', file_data: 'data:text/html;base64,/////w==' },
			{ type: 'input_text', text: 'Hello' }
		];
		const item: Item = { id: 'msg_12345678', type: 'message', role: 'user', parent_id: null, created_at: 1, content: parts };
		const { messages, attachments } = messagesOf([item], 'c', new Map());
		expect(attachments).toEqual([]);
		expect((messages[0] as UserMessage).text).toContain('[https://example.org/a.png]');
		expect((messages[0] as UserMessage).text).toContain('Hello');
	});

	test('of sounds are not kept on the platform', async () => {
		const sound: Attachment = { ...picture('s'), kind: 'audio', name: 'a.wav', type: 'audio/wav' };
		const item = await inputItem(newUserMessage('c', null, 'Listen.', ['s']), [sound]);
		expect(item.content).toEqual([
			{ type: 'input_text', text: '[a.wav: not included]' },
			{ type: 'input_text', text: 'Listen.' }
		]);
	});
});

test('items of other programs are messages, too', () => {
	const base = { created_at: 5, parent_id: null } as const;
	const items: Item[] = [
		{ ...base, id: 'msg_system01', type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be short.' }] },
		{ ...base, id: 'msg_7c3f0a52', type: 'message', role: 'user', parent_id: 'msg_system01', content: 'Hi' },
		{ ...base, id: 'rs_11111111', type: 'reasoning', parent_id: 'msg_7c3f0a52', response_id: 'resp_9', content: [] },
		{ ...base, id: 'msg_22222222', type: 'message', role: 'assistant', parent_id: 'rs_11111111', response_id: 'resp_9', response_status: 'completed', content: [{ text: 'Ho' }], model: 'm', metadata: { message_id: '../x' } }
	];
	const { messages } = messagesOf(items, 'c', new Map(), new Map(), (id, response) => (response === 'resp_9' ? 'mine' : id));
	expect(messages.map(({ id, parent }) => [id, parent])).toEqual([
		['msg_7c3f0a52', null],
		['mine', 'msg_7c3f0a52']
	]);
});

test('an answer that runs, or has nothing, is not for the platform', () => {
	expect(isWhole(newAnswer('c', null, 'm'))).toBe(false);
	expect(isWhole(newAnswer('c', null, 'm', { status: 'failed' }))).toBe(false);
	expect(isWhole(newAnswer('c', null, 'm', { status: 'stopped', text: 'So' }))).toBe(true);
});

test('a version that is read later is the later one within a second, too', () => {
	const item = { id: 'msg_1', type: 'message', role: 'user', parent_id: null, created_at: 7, content: 'Hello' };
	expect(messagesOf([item], 'c', new Map(), new Map(), undefined, 7_400).messages[0]?.createdAt).toBe(7_401);
	expect(messagesOf([item], 'c', new Map(), new Map(), undefined, 6_400).messages[0]?.createdAt).toBe(7_000);
});
