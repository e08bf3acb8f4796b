const MEBIBYTE = 1024 * 1024;

/** Bounds of attachments: those of a request (docs/api.md), and those of what a browser should have to read. */
export const LIMITS = {
	/** Files of one message. */
	files: 10,
	/** Bytes of a file before it is shrunk or read. */
	fileBytes: 64 * MEBIBYTE,
	/** Pixels of a picture before it is shrunk. */
	pixels: 100_000_000,
	/** The longer side of a picture as it is sent. */
	side: 1600,
	/** Bytes of the text of one document. */
	textBytes: MEBIBYTE,
	/** Pages of a PDF whose text is read, and those that are sent as pictures. */
	pdfPages: 500,
	pdfPictures: 12,
	/** How long a PDF may take, in ms. */
	pdfMs: 30_000,
	/** What a message's attachments may have as they are sent: base64 makes a third more of it, of the 8 MiB of a request. */
	messageBytes: 5 * MEBIBYTE,
	/** A recording, or the images to change: what the platform takes of a form (`files.max_media_bytes`). */
	mediaBytes: 25 * MEBIBYTE,
	/** The longest recording by the microphone, in seconds; the second one as WAV, within `messageBytes`. */
	recordingSeconds: 600,
	wavSeconds: 150,
	/** Of a whole request with its history, in base64. */
	requestBytes: 7 * MEBIBYTE,
	/** So many squares of `side` pixels are the 64 million pixels of a request. */
	requestImages: 25,
	requestFiles: 16
} as const;

/** Why a file is not attached. The words are in `chat_text` (`attachments.problems`). */
export type AttachmentProblemCode =
	| 'tooMany' // files of one message
	| 'tooLarge' // the file, its picture or its text
	| 'messageTooLarge'
	| 'noSpace' // in the browser
	| 'empty'
	| 'unknownKind'
	| 'unreadable'
	| 'locked' // a PDF with a password
	| 'tooSlow'
	| 'noReader' // the part of the page that reads such files has not been loaded
	| 'noImages' // the model takes no pictures
	| 'noAudio'
	| 'noAudioThere' // the conversation is on the platform
	| 'audioFormat' // the model takes WAV and MP3 only
	| 'noDocuments' // of a model of images or audio
	| 'oneRecording'
	| 'mediaTooLarge'
	| 'noText'; // a PDF of pictures, for a model that takes none

/** A file that cannot be attached, or not be sent to this model. */
export class AttachmentProblem extends Error {
	constructor(
		readonly code: AttachmentProblemCode,
		/** The name of the file. */
		readonly file: string
	) {
		super(`${code}: ${file}`);
	}
}
