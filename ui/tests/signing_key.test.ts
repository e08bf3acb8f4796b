import { expect, test } from 'vitest';
import { hex } from '../src/lib/services/canonical';
import { importSigningKey, seedOf, signingSupport, UnusableKey } from '../src/lib/services/signing_key';
import { bytes, vectors } from './vectors';

const { pem, seed, publicPem, otherPem } = vectors.keys;

test('the key of a file that the platform wrote is read', () => {
	expect(hex(seedOf(bytes(pem)))).toBe(seed);
	expect(hex(seedOf(bytes(`a comment\r\n${pem.replaceAll('\n', '\r\n')}`)))).toBe(seed);
});

test('a key with its public part (version 2 of the form) is read', () => {
	const der = Uint8Array.from([
		...[0x30, 0x51, 0x02, 0x01, 0x01, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
		...Buffer.from(seed, 'hex'),
		...[0x81, 0x21, 0x00],
		...Buffer.from(vectors.keys.publicKey, 'base64')
	]);
	const base64 = Buffer.from(der).toString('base64');
	expect(hex(seedOf(bytes(`-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`)))).toBe(seed);
});

const cases: [string, string, string][] = [
	['a key with a password', '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGj\n-----END ENCRYPTED PRIVATE KEY-----', 'encrypted'],
	['a key of an earlier form with a password', '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n', 'encrypted'],
	['a public key', publicPem, 'public'],
	['a key of another curve', otherPem, 'notEd25519'],
	['a key of OpenSSH', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----', 'otherForm'],
	['an empty file', '', 'otherForm'],
	['a key that is cut off', `${pem.slice(0, 60)}\n-----END PRIVATE KEY-----`, 'notEd25519'],
	['a key with other characters', pem.replace('MC4', 'MC!'), 'otherForm'],
	['a file that is too long', pem + ' '.repeat(4096), 'tooLong']
];
test.each(cases)('%s is refused with its reason', (_, content, reason) => {
	expect(() => seedOf(bytes(content))).toThrow(new UnusableKey(reason as UnusableKey['reason']));
});

test('the content of the file is overwritten, and the key cannot be read again', async () => {
	expect(await signingSupport()).toBe('yes');
	const content = bytes(pem);
	const key = await importSigningKey(content);
	expect(content.every((byte) => byte === 0)).toBe(true);
	expect([key.extractable, key.usages]).toEqual([false, ['sign']]);
	const other = bytes(otherPem);
	await expect(importSigningKey(other)).rejects.toThrow(UnusableKey);
	expect(other.every((byte) => byte === 0)).toBe(true);
});
