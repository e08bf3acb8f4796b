import { SAMPLE_RATE, wavOf } from './wav';

/** A recording as WAV with one channel and 16,000 samples a second. Raises the browser's error where it cannot decode it. */
export async function toWav(recording: Blob): Promise<Blob> {
	const decoding = new OfflineAudioContext(1, 1, SAMPLE_RATE); // decodes into its own number of samples a second
	const decoded = await decoding.decodeAudioData(await recording.arrayBuffer());
	const mixing = new OfflineAudioContext(1, Math.max(1, decoded.length), SAMPLE_RATE); // mixes to one channel
	const source = mixing.createBufferSource();
	source.buffer = decoded;
	source.connect(mixing.destination);
	source.start();
	return wavOf((await mixing.startRendering()).getChannelData(0));
}
