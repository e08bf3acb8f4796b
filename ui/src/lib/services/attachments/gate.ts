import type { Attachment } from '$lib/chat_types';
import type { AttachmentProblemCode } from './limits';
import { LIMITS } from './limits';

/** What decides about an attachment. */
export type Gated = Pick<Attachment, 'id' | 'name' | 'kind' | 'type' | 'bytes' | 'text' | 'pages'>;

export interface Refused {
	/** The attachment that cannot be sent; null if it is all of them together. */
	id: string | null;
	name: string;
	code: AttachmentProblemCode;
}

/** What `input_audio` of a request can be. */
export const AUDIO_OF_MESSAGES: readonly string[] = ['audio/wav', 'audio/x-wav', 'audio/mpeg'];

/**
 * Why an attachment cannot be sent to a model that takes these inputs (`gateOf`); null if it can. `platform` among them: the
 * conversation is kept there.
 */
export function reasonAgainst(attachment: Gated, modalities: readonly string[]): AttachmentProblemCode | null {
	const sees = modalities.includes('image');
	if (attachment.kind === 'image') return sees ? null : 'noImages';
	const isMedia = modalities.includes('media');
	if (attachment.kind === 'audio') {
		if (!modalities.includes('audio')) return 'noAudio';
		// a request of a conversation on the platform has what the platform keeps of it
		if (!isMedia && modalities.includes('platform')) return 'noAudioThere';
		return isMedia || AUDIO_OF_MESSAGES.includes(attachment.type) ? null : 'audioFormat';
	}
	if (isMedia) return 'noDocuments';
	if (attachment.kind === 'pdf' && attachment.text === '') return sees && attachment.pages.length > 0 ? null : 'noText';
	return null;
}

/** What has to change before a message with these attachments is sent to this model. Several models: all of them. */
export function refusedAttachments(attachments: readonly Gated[], ...models: (readonly string[])[]): Refused[] {
	const found: Refused[] = [];
	for (const attachment of attachments) {
		const code = models.map((modalities) => reasonAgainst(attachment, modalities)).find((reason) => reason !== null);
		if (code) found.push({ id: attachment.id, name: attachment.name, code });
	}
	if (attachments.length > LIMITS.files) found.push({ id: null, name: '', code: 'tooMany' });
	const bytes = attachments.reduce((sum, attachment) => sum + attachment.bytes, 0);
	const isForm = models.length > 0 && models.every((modalities) => modalities.includes('media'));
	if (isForm && bytes > LIMITS.mediaBytes) found.push({ id: null, name: '', code: 'mediaTooLarge' });
	if (!isForm && bytes > LIMITS.messageBytes) found.push({ id: null, name: '', code: 'messageTooLarge' });
	const recordings = attachments.filter(({ kind }) => kind === 'audio').length;
	const transcribes = models.some((modalities) => modalities.includes('media') && modalities.includes('audio'));
	if (transcribes && recordings > 1) found.push({ id: null, name: '', code: 'oneRecording' });
	return found;
}
