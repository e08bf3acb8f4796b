/** The time of the browser in milliseconds, which moves every second while the component is mounted. */
export function useClock(): { readonly ms: number } {
	let ms = $state(Date.now());
	$effect(() => {
		const timer = setInterval(() => (ms = Date.now()), 1_000);
		return () => clearInterval(timer);
	});
	return {
		get ms() {
			return ms;
		}
	};
}
