import { expect, test } from 'vitest';
import type { AnswerMessage, Attachment, Conversation, Message } from '$lib/chat_types';
import { exportJson, fileName } from '$lib/services/chat/export';
import { ImportRefused, parseImport, readImport, type ImportContext } from '$lib/services/chat/import';
import { boundedJson, lineOf } from '$lib/services/chat/import_fields';
import type { WholeConversation } from '$lib/storage/conversations';

const NOW = Date.UTC(2026, 10, 27);
const ID = '11111111-2222-3333-4444-555555555555';

function context(known: string[] = []): ImportContext {
	let count = 0;
	return { known: new Set(known), newId: () => `new-${(count += 1)}`, now: NOW };
}

const CONVERSATION: Conversation = {
	id: ID,
	title: 'Crème',
	isTitled: true,
	folder: 'Food',
	isPinned: true,
	createdAt: NOW - 1_000,
	changedAt: NOW - 500,
	place: 'server',
	serverId: 'conv_1',
	leaf: 'm2',
	settings: {
		model: 'demo',
		secondModel: null,
		instructions: 'Be brief.',
		parameters: { temperature: 0.5, stop: ['END'] },
		reasoning: 'low',
		tools: ['shell'],
		format: { name: 'answer', schema: { type: 'object' } }
	}
};

const ANSWER: AnswerMessage = {
	id: 'm2',
	conversation: ID,
	parent: 'm1',
	createdAt: NOW - 600,
	itemIds: ['msg_2'],
	role: 'assistant',
	model: 'demo',
	status: 'done',
	text: '**Sure** <script>alert(1)</script>',
	reasoning: 'Hm',
	reasoningMs: 20,
	calls: [{ id: 'c1', name: 'time', arguments: '{}' }],
	responseId: 'resp_1',
	usage: { inputTokens: 1, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0 },
	times: { sentAt: NOW - 700, firstTokenMs: 5, totalMs: 9, tokensPerSecond: 30 },
	error: null,
	continues: null,
	isSecond: false
};

const MESSAGES: Message[] = [
	{ id: 'm1', conversation: ID, parent: null, createdAt: NOW - 900, itemIds: [], role: 'user', text: 'Hi', attachments: ['a1'] },
	ANSWER,
	{ id: 'm3', conversation: ID, parent: 'm2', createdAt: NOW, itemIds: [], role: 'tool', callId: 'c1', name: 'time', output: 'now', isError: false }
];

const ATTACHMENT: Attachment = {
	id: 'a1',
	conversation: ID,
	name: 'cat.png',
	type: 'image/png',
	kind: 'image',
	bytes: 3,
	content: new Blob([new Uint8Array([1, 2, 255])], { type: 'image/png' }),
	pages: [],
	text: '',
	fileId: 'file-1'
};

const WHOLE: WholeConversation = { conversation: CONVERSATION, messages: MESSAGES, attachments: [ATTACHMENT] };

async function refusal(file: Blob): Promise<string> {
	try {
		await readImport(file, context());
	} catch (error) {
		if (error instanceof ImportRefused) return error.reason;
		throw error;
	}
	return 'taken';
}

/** A file of one conversation with these fields. */
function file(conversation: object, messages: unknown[], attachments: object[] = []): object {
	return { format: 'stoker.chat', version: 1, conversations: [{ conversation, messages, attachments }] };
}

test('an exported conversation is imported as it was, in this browser, with new ids of messages and without tools', async () => {
	const made = await exportJson([ID, 'gone'], async (id) => (id === ID ? WHOLE : undefined));
	const { added, known, unusable } = await readImport(made, context());
	expect([added.length, known, unusable]).toEqual([1, 0, 0]);
	const { conversation, messages, attachments } = added[0] as WholeConversation;
	const [first, second, third] = messages;
	expect(conversation).toEqual({
		...CONVERSATION,
		place: 'browser',
		serverId: null,
		leaf: second?.id,
		settings: { ...CONVERSATION.settings, tools: [] }
	});
	expect(first).toEqual({ ...MESSAGES[0], id: first?.id, attachments: [attachments[0]?.id] });
	expect(second).toEqual({ ...ANSWER, id: second?.id, parent: first?.id, itemIds: [], responseId: null });
	expect(third).toEqual({ ...MESSAGES[2], id: third?.id, parent: second?.id });
	expect(messages.every(({ id }) => id.startsWith('new-'))).toBe(true);
	expect(new Uint8Array((await attachments[0]?.content.arrayBuffer()) as ArrayBuffer)).toEqual(new Uint8Array([1, 2, 255]));
	expect(attachments[0]).toMatchObject({ name: 'cat.png', type: 'image/png', bytes: 3, fileId: null });
});

test('a conversation that is here is not imported again, be it kept here or on the platform', async () => {
	const made = await exportJson([ID], async () => WHOLE);
	expect(await readImport(made, context([ID]))).toMatchObject({ added: [], known: 1 });
	expect(await readImport(made, context(['conv_1']))).toMatchObject({ added: [], known: 1 });
	expect(parseImport(file({ id: ID }, []), context())).toMatchObject({ added: [], unusable: 1 });
});

test('a file that is none of conversations is refused with the reason', async () => {
	expect(await refusal(new Blob(['{"a":']))).toBe('notJson');
	expect(await refusal(new Blob(['"text"']))).toBe('unknownFormat');
	expect(await refusal(new Blob(['[]']))).toBe('unknownFormat');
	expect(await refusal(new Blob([`${'['.repeat(100_000)}${']'.repeat(100_000)}`]))).toBe('unknownFormat');
	expect(await refusal(new Blob(['{"format":"stoker.chat","version":2}']))).toBe('newerVersion');
	expect(await refusal(new Blob(['{"format":"stoker.chat","version":1,"conversations":[]}']))).toBe('empty');
});

test('fields of wrong types become empty ones, and unknown fields are left out', () => {
	const bad = { id: 7, title: { a: 1 }, changedAt: 'x', createdAt: NOW * 2, folder: [], settings: 3, leaf: {}, evil: 1 };
	const message = { id: 'm', role: 'assistant', text: 5, calls: 'x', status: 'running', times: [], usage: 'u', evil: 1 };
	const { added } = parseImport(file(bad, [message, null, [], { id: 'x', role: 'system' }]), context());
	const { conversation, messages } = added[0] as WholeConversation;
	expect(conversation).toMatchObject({ id: 'new-1', title: '…', folder: null, changedAt: NOW, createdAt: NOW });
	expect(conversation).not.toHaveProperty('evil');
	expect(messages).toHaveLength(1);
	expect(messages[0]).toMatchObject({ text: '', calls: [], status: 'stopped', model: '', usage: null });
	expect(messages[0]).not.toHaveProperty('evil');
});

test('circles and missing parents do no harm', () => {
	const { added } = parseImport(
		file({ id: ID, leaf: 'b' }, [
			{ id: 'a', role: 'user', parent: 'b' },
			{ id: 'b', role: 'user', parent: 'a' },
			{ id: 'c', role: 'user', parent: 'c' },
			{ id: 'd', role: 'user', parent: 'gone' },
			{ id: 'd', role: 'user', parent: null, text: 'a second one with that id' },
			{ id: 'e', role: 'user', parent: 'd' }
		]),
		context()
	);
	const { conversation, messages } = added[0] as WholeConversation;
	expect(messages.map(({ parent }) => parent)).toEqual([null, messages[0]?.id]);
	expect(conversation.leaf).toBe(messages[1]?.id);
});

test('a file sets no field of a request besides those of sampling', () => {
	const parameters = { temperature: 1, top_p: { a: 1 }, store: false, input: 'x', metadata: {}, stop: ['a', 5, ''] };
	const { added } = parseImport(file({ settings: { parameters, tools: ['shell'] } }, [{ id: 'a', role: 'user' }]), context());
	expect(added[0]?.conversation.settings).toMatchObject({ parameters: { temperature: 1, stop: ['a'] }, tools: [] });
});

test('the images of an answer come back with it', async () => {
	const media = { task: 'image' as const, attachments: ['a1'], seed: 7, size: null };
	const whole = {
		conversation: CONVERSATION,
		messages: [{ ...MESSAGES[0], attachments: [] } as Message, { ...ANSWER, media }],
		attachments: [ATTACHMENT]
	};
	const { added } = await readImport(await exportJson([ID], async () => whole), context());
	const { messages, attachments } = added[0] as WholeConversation;
	expect(attachments).toHaveLength(1);
	expect((messages[1] as AnswerMessage).media?.attachments).toEqual([attachments[0]?.id]);
});

test('an attachment gets a harmless type, and a picture of another type is left out', () => {
	const html = btoa('<script>alert(1)</script>');
	const kinds = [
		{ id: '1', kind: 'image', contentType: 'image/svg+xml', content: html },
		{ id: '2', kind: 'text', contentType: 'text/html', content: html, name: '../\u202egnp.exe\u0000' },
		{ id: '3', kind: 'pdf', contentType: 'text/html', type: 'text/html', content: html, pages: [{ type: 'text/html', base64: html }] },
		{ id: '4', kind: 'audio', contentType: 'text/html', content: html },
		{ id: '5', kind: 'image', contentType: 'image/png', content: '%%%' },
		{ id: '6', kind: 'program', contentType: 'image/png', content: html }
	];
	const message = { id: 'a', role: 'user', attachments: ['1', '2', '3', '4', '5', '6'] };
	const { added } = parseImport(file({}, [message], kinds), context());
	expect(added[0]?.attachments.map(({ type, content, pages }) => [type, content.type, pages.length])).toEqual([
		['text/plain', 'text/plain', 0],
		['application/pdf', 'text/plain', 0],
		['audio/wav', 'audio/wav', 0]
	]);
	expect(added[0]?.attachments[0]?.name).toBe('.._ gnp.exe');
});

test('deep and wide values are refused, and no prototype is changed', () => {
	const deep = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`);
	expect(boundedJson(deep)).toBeUndefined();
	expect(boundedJson(Array.from({ length: 10_000 }, () => 1))).toBeUndefined();
	const copy = boundedJson(JSON.parse('{"__proto__":{"isAdmin":true},"a":[1,"b",null]}')) as Record<string, unknown>;
	expect(copy).toEqual({ a: [1, 'b', null] });
	expect(copy.isAdmin).toBeUndefined();
});

test('a line has no control characters, no signs of direction and no half characters', () => {
	expect(lineOf('a\n\u202eb\u0000c', 10)).toBe('a b c');
	expect(lineOf('ab\ud83d\ude00', 3)).toBe('ab');
});

test('conversations of llama-server and of Open WebUI are imported with their branches', () => {
	const llama = [
		{
			conv: { id: ID, name: 'From llama', lastModified: NOW - 5, currNode: '3' },
			messages: [
				{ id: '0', type: 'root', role: 'system', content: '', parent: null },
				{ id: '1', type: 'text', role: 'user', content: 'Hi', parent: '0', timestamp: NOW - 9 },
				{ id: '2', type: 'text', role: 'assistant', content: 'One', parent: '1', model: 'm', reasoningContent: 'Hm' },
				{ id: '3', type: 'text', role: 'assistant', content: 'Two', parent: '1' }
			]
		}
	];
	const fromLlama = parseImport(llama, context()).added[0] as WholeConversation;
	expect(fromLlama.conversation).toMatchObject({ id: ID, title: 'From llama', leaf: fromLlama.messages[2]?.id });
	expect(fromLlama.messages.map((message) => message.parent)).toEqual([null, fromLlama.messages[0]?.id, fromLlama.messages[0]?.id]);
	expect(fromLlama.messages[1]).toMatchObject({ text: 'One', reasoning: 'Hm', model: 'm', status: 'done' });

	const openWebUi = [
		{
			id: ID,
			title: 'From Open WebUI',
			updated_at: (NOW - 5_000) / 1_000,
			pinned: true,
			chat: {
				history: {
					currentId: 'b',
					messages: {
						a: { id: 'a', parentId: null, role: 'user', content: 'Hi', timestamp: NOW / 1_000 },
						b: { id: 'b', parentId: 'a', role: 'assistant', content: 'Yes', model: 'x' }
					}
				}
			}
		}
	];
	const fromOther = parseImport(openWebUi, context()).added[0] as WholeConversation;
	expect(fromOther.conversation).toMatchObject({ title: 'From Open WebUI', isPinned: true, changedAt: NOW - 5_000 });
	expect(fromOther.messages).toHaveLength(2);
	expect(fromOther.conversation.leaf).toBe(fromOther.messages[1]?.id);
});

test('of a conversation with more messages than allowed the first ones are read', () => {
	const messages = Array.from({ length: 20_001 }, (_, at) => ({ id: `${at}`, role: 'user', parent: at ? '0' : null }));
	expect(parseImport(file({}, messages), context()).added[0]?.messages).toHaveLength(20_000);
});

test('the name of a file is one on every system', () => {
	expect(fileName('a/b\\c: "d"\u202e?', 'json', new Date(2026, 0, 2))).toBe('2026-01-02 a b c d.json');
	expect(fileName('..', 'md', new Date(2026, 0, 2))).toBe('2026-01-02.md');
});
