import { expect, test } from 'vitest';
import type { Attachment, Message } from '../../src/lib/chat_types';
import { inputOf } from '../../src/lib/services/chat/input';
import { newAnswer, newSettings, newToolMessage, newUserMessage } from '../../src/lib/services/chat/new_records';
import { requestBody } from '../../src/lib/services/chat/request';

const user = (text: string, attachments: string[] = []) => newUserMessage('c', null, text, attachments);
const said = (text: string, given = {}) => newAnswer('c', null, 'stub', { text, status: 'done', ...given });

function file(given: Partial<Attachment>): Attachment {
	const base = { id: 'f1', conversation: 'c', bytes: 2, pages: [], text: '', fileId: null };
	return { ...base, name: 'a.png', type: 'image/png', kind: 'image', content: new Blob(['AB'], { type: 'image/png' }), ...given };
}

test('the input has what was said, without reasoning and empty answers', async () => {
	const messages: Message[] = [user('Hi'), said('Hello', { reasoning: 'hm' }), user('Again'), said('')];
	expect(await inputOf(messages, new Map(), [])).toEqual([
		{ role: 'user', content: 'Hi' },
		{ role: 'assistant', content: 'Hello' },
		{ role: 'user', content: 'Again' }
	]);
});

test('the parts of a continued answer are one message', async () => {
	const cut = said('3+4', { status: 'cut' });
	const input = await inputOf([user('Sum'), cut, said(' = 7', { continues: cut.id })], new Map(), []);
	expect(input).toEqual([
		{ role: 'user', content: 'Sum' },
		{ role: 'assistant', content: '3+4 = 7' }
	]);
});

test('calls go with their results, and a call without one is left out', async () => {
	const calls = ['1', '2'].map((id) => ({ id, name: 'weather', arguments: '{}' }));
	const result = newToolMessage('c', 'a', { callId: '1', name: 'weather', output: 'sunny', isError: false });
	expect(await inputOf([said('', { calls }), result], new Map(), [])).toEqual([
		{ type: 'function_call', call_id: '1', name: 'weather', arguments: '{}' },
		{ type: 'function_call_output', call_id: '1', output: 'sunny' }
	]);
});

test('images and documents are parts before the text', async () => {
	const image = file({});
	const content = new Blob(['Ü'], { type: 'text/plain' });
	const pdf = file({ id: 'f2', kind: 'pdf', name: 'a.pdf', text: 'Ü', content });
	const [item] = await inputOf([user('Look', ['f1', 'f2', 'gone'])], new Map([image, pdf].map((one) => [one.id, one])), ['image']);
	expect(item?.content).toEqual([
		{ type: 'input_image', image_url: 'data:image/png;base64,QUI=' },
		{ type: 'input_file', filename: 'a.pdf', file_data: 'data:text/plain;base64,w5w=' },
		{ type: 'input_text', text: 'Look' }
	]);
});

test('the pages of a document go as pictures where it has them', async () => {
	const pdf = file({ kind: 'pdf', pages: [new Blob(['AB'], { type: 'image/webp' })] });
	const [item] = await inputOf([user('', ['f1'])], new Map([[pdf.id, pdf]]), ['image']);
	expect(item?.content).toEqual([
		{ type: 'input_text', text: 'a.png' },
		{ type: 'input_image', image_url: 'data:image/webp;base64,QUI=' }
	]);
});

test('a request has what differs from the defaults, and nothing else', () => {
	const parts = { model: 'stub', settings: newSettings(), input: [], tools: [], continues: false, place: null };
	const always = { model: 'stub', input: [], stream: true, store: true, return_progress: true };
	expect(requestBody(parts)).toEqual(always);
	const settings = {
		...newSettings(),
		instructions: 'Be brief.',
		parameters: { temperature: 0 },
		reasoning: 'off' as const,
		format: { name: 'sum', schema: { type: 'object' } }
	};
	expect(requestBody({ ...parts, settings, continues: true })).toEqual({
		...always,
		instructions: 'Be brief.',
		temperature: 0,
		thinking: 'disabled',
		text: { format: { type: 'json_schema', name: 'sum', schema: { type: 'object' } } },
		continue_final_message: true
	});
	// a model without the choice would refuse it
	expect(requestBody({ ...parts, settings: { ...newSettings(), reasoning: 'off' }, reasoning: ['default'] })).toEqual(always);
});
