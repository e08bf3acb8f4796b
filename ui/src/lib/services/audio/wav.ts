/** The samples in a second of the recordings that models get. */
export const SAMPLE_RATE = 16_000;

const HEADER_BYTES = 44;

/** A recording of one channel as WAV (RIFF, PCM of 16 bits). Samples are from -1 to 1; what is beyond is cut. */
export function wavOf(samples: Float32Array, rate: number = SAMPLE_RATE): Blob {
	const bytes = samples.length * 2;
	const view = new DataView(new ArrayBuffer(HEADER_BYTES + bytes));
	const write = (at: number, text: string): void => [...text].forEach((sign, place) => view.setUint8(at + place, sign.charCodeAt(0)));
	write(0, 'RIFF');
	view.setUint32(4, HEADER_BYTES - 8 + bytes, true);
	write(8, 'WAVEfmt ');
	view.setUint32(16, 16, true); // the length of what follows, up to `data`
	view.setUint16(20, 1, true); // PCM
	view.setUint16(22, 1, true); // channels
	view.setUint32(24, rate, true);
	view.setUint32(28, rate * 2, true); // bytes in a second
	view.setUint16(32, 2, true); // bytes of a sample of all channels
	view.setUint16(34, 16, true);
	write(36, 'data');
	view.setUint32(40, bytes, true);
	samples.forEach((sample, at) => {
		const cut = Math.max(-1, Math.min(1, sample));
		view.setInt16(HEADER_BYTES + at * 2, Math.round(cut < 0 ? cut * 0x8000 : cut * 0x7fff), true);
	});
	return new Blob([view.buffer], { type: 'audio/wav' });
}
