/**
 * Why the microphone cannot be used: `insecure`: the page has no https; `unsupported`: the browser cannot record; `refused`:
 * a person or the browser's settings forbid it; `missing`: there is no microphone; `busy`: another program has it.
 */
export type MicrophoneProblem = 'insecure' | 'unsupported' | 'refused' | 'missing' | 'busy' | 'failed';

/** Formats of recordings, the best first. */
const FORMATS = ['audio/webm;codecs=opus', 'audio/ogg;codecs=opus', 'audio/mp4'];
const ENDINGS: Record<string, string> = { 'audio/webm': 'webm', 'audio/ogg': 'ogg', 'audio/mp4': 'm4a' };
const BITS_PER_SECOND = 48_000;

/** Raised when the microphone cannot be used. */
export class MicrophoneRefused extends Error {
	constructor(readonly problem: MicrophoneProblem) {
		super(problem);
	}
}

/** A recording by the microphone that is under way: end it in any case, else the microphone stays on. */
export class Recording {
	#parts: Blob[] = [];
	#stopped: Promise<void>;

	private constructor(
		private stream: MediaStream,
		private recorder: MediaRecorder
	) {
		recorder.addEventListener('dataavailable', ({ data }) => this.#parts.push(data));
		this.#stopped = new Promise((resolve) => recorder.addEventListener('stop', () => resolve()));
		recorder.start(1_000);
	}

	/** Ask for the microphone, and begin. Raises `MicrophoneRefused`. */
	static async begin(): Promise<Recording> {
		if (!isSecureContext) throw new MicrophoneRefused('insecure');
		if (!navigator.mediaDevices?.getUserMedia || typeof MediaRecorder === 'undefined') throw new MicrophoneRefused('unsupported');
		const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((error: unknown) => {
			throw new MicrophoneRefused(problemOf(error));
		});
		try {
			const mimeType = FORMATS.find((format) => MediaRecorder.isTypeSupported(format));
			return new Recording(stream, new MediaRecorder(stream, { ...(mimeType && { mimeType }), audioBitsPerSecond: BITS_PER_SECOND }));
		} catch {
			for (const track of stream.getTracks()) track.stop();
			throw new MicrophoneRefused('failed');
		}
	}

	/** End it; the microphone is off then. Returns what was recorded. `name`: without an ending. */
	async end(name: string): Promise<File> {
		if (this.recorder.state !== 'inactive') this.recorder.stop();
		await this.#stopped;
		for (const track of this.stream.getTracks()) track.stop();
		const type = this.recorder.mimeType.split(';')[0] || 'audio/webm';
		return new File(this.#parts, `${name}.${ENDINGS[type] ?? 'webm'}`, { type });
	}
}

/** The problem that an error of `getUserMedia` means (W3C Media Capture and Streams, 10.2). */
export function problemOf(error: unknown): MicrophoneProblem {
	const name = error instanceof Error ? error.name : '';
	if (name === 'NotAllowedError' || name === 'SecurityError') return 'refused';
	if (name === 'NotFoundError' || name === 'OverconstrainedError') return 'missing';
	return name === 'NotReadableError' ? 'busy' : 'failed';
}

/** A length of time in a recorder: `0:07`, `12:30`. */
export function clockTime(seconds: number): string {
	const whole = Math.max(0, Math.floor(seconds));
	return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
