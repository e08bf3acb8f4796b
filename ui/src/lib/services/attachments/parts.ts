import type { Attachment } from '$lib/chat_types';
import { AUDIO_OF_MESSAGES } from './gate';
import { LIMITS } from './limits';

/** A part of a user's message, as `POST /v1/responses` takes it. */
export type InputPart =
	| { type: 'input_text'; text: string }
	| { type: 'input_image'; image_url: string }
	| { type: 'input_file'; filename: string; file_data: string }
	| { type: 'input_audio'; input_audio: { data: string; format: string } };

/**
 * The parts of a message: its attachments, then its text. What the model cannot take becomes a line that names it: an
 * earlier message may have a picture that another model has seen.
 */
export async function partsOf(
	text: string,
	attachments: readonly Attachment[],
	modalities: readonly string[]
): Promise<InputPart[]> {
	const parts = await Promise.all(attachments.map((attachment) => partsOfAttachment(attachment, modalities)));
	const own: InputPart[] = text === '' ? [] : [{ type: 'input_text', text }];
	return [...parts.flat(), ...own];
}

async function partsOfAttachment(attachment: Attachment, modalities: readonly string[]): Promise<InputPart[]> {
	const { kind, name, content, pages, text } = attachment;
	const sees = modalities.includes('image');
	if (kind === 'image') return sees ? [await imagePart(content)] : [leftOut(name)];
	if (kind === 'audio') {
		if (!modalities.includes('audio') || !AUDIO_OF_MESSAGES.includes(attachment.type)) return [leftOut(name)];
		const format = attachment.type === 'audio/mpeg' ? 'mp3' : 'wav';
		return [{ type: 'input_audio', input_audio: { data: await base64Of(content), format } }];
	}
	if (kind === 'pdf' && sees && pages.length > 0) {
		return [{ type: 'input_text', text: name }, ...(await Promise.all(pages.map(imagePart)))];
	}
	if (kind === 'pdf' && text === '') return [leftOut(name)];
	// as text/plain, a name that ends in .pdf or .py is no matter to the platform
	return [{ type: 'input_file', filename: name, file_data: `data:text/plain;base64,${await base64Of(content)}` }];
}

/** A line in the place of an attachment that the model does not get. */
export function leftOut(name: string): InputPart {
	return { type: 'input_text', text: `[${name}: not included]` };
}

async function imagePart(content: Blob): Promise<InputPart> {
	return { type: 'input_image', image_url: `data:${content.type};base64,${await base64Of(content)}` };
}

export async function base64Of(content: Blob): Promise<string> {
	const bytes = new Uint8Array(await content.arrayBuffer());
	let text = '';
	for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
	return btoa(text);
}

/**
 * The messages of a request within its limits of bytes, images and files: from the last message on, as many attachments
 * as fit, whole; a line stands in the place of each that does not.
 */
export function withinLimits(messages: readonly InputPart[][]): InputPart[][] {
	let bytes = 0;
	let images = 0;
	let files = 0;
	const fits = (part: InputPart): boolean => {
		if (part.type === 'input_text') return true;
		const size = sizeOf(part);
		const isImage = part.type === 'input_image';
		if (bytes + size > LIMITS.requestBytes) return false;
		if (isImage ? images >= LIMITS.requestImages : files >= LIMITS.requestFiles) return false;
		bytes += size;
		if (isImage) images += 1;
		else files += 1;
		return true;
	};
	return messages
		.toReversed()
		.map((parts) => parts.map((part) => (fits(part) ? part : leftOut(nameOf(part)))))
		.toReversed();
}

function sizeOf(part: InputPart): number {
	if (part.type === 'input_image') return part.image_url.length;
	if (part.type === 'input_file') return part.file_data.length;
	return part.type === 'input_audio' ? part.input_audio.data.length : part.text.length;
}

function nameOf(part: InputPart): string {
	if (part.type === 'input_file') return part.filename;
	return part.type === 'input_image' ? 'image' : 'audio';
}
