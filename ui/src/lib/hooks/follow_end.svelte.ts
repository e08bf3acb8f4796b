/** So near to the end, in pixels, a scroll follows it again. */
const NEAR = 32;
/** So long after a key, a wheel or a finger, in ms, a scroll is a person's. */
const BY_PERSON_MS = 700;
const UPWARDS = new Set(['ArrowUp', 'PageUp', 'Home']);

/**
 * Keeps the end of a growing text in view, until a person scrolls up, and again once they are back at the end. `attach` goes on
 * the element that scrolls; its first child is what grows.
 */
export class FollowEnd {
	/** Whether the end is followed. */
	isFollowing = $state(true);
	#scroller: HTMLElement | undefined;
	#top = 0;
	#height = 0;
	#byPersonAt = -Infinity;

	attach = (scroller: HTMLElement): (() => void) => {
		this.#scroller = scroller;
		const sizes = new ResizeObserver(() => this.#onSize());
		sizes.observe(scroller);
		if (scroller.firstElementChild) sizes.observe(scroller.firstElementChild);
		const note = (): void => void (this.#byPersonAt = performance.now());
		const onWheel = ({ deltaY }: WheelEvent): void => void (deltaY < 0 && note());
		const onKey = ({ key }: KeyboardEvent): void => void (UPWARDS.has(key) && note());
		const onScroll = (): void => this.#onScroll();
		scroller.addEventListener('scroll', onScroll, { passive: true });
		scroller.addEventListener('wheel', onWheel, { passive: true });
		scroller.addEventListener('touchmove', note, { passive: true });
		scroller.addEventListener('pointerdown', note, { passive: true });
		scroller.addEventListener('keydown', onKey);
		return () => {
			sizes.disconnect();
			scroller.removeEventListener('scroll', onScroll);
			scroller.removeEventListener('wheel', onWheel);
			scroller.removeEventListener('touchmove', note);
			scroller.removeEventListener('pointerdown', note);
			scroller.removeEventListener('keydown', onKey);
			this.#scroller = undefined;
		};
	};

	/** Go to the end, and follow it. */
	toEnd(): void {
		this.isFollowing = true;
		this.#onSize();
	}

	#onSize(): void {
		const scroller = this.#scroller;
		if (!scroller) return;
		if (this.isFollowing) scroller.scrollTop = scroller.scrollHeight;
		this.#top = scroller.scrollTop;
		this.#height = scroller.scrollHeight;
	}

	#onScroll(): void {
		const scroller = this.#scroller;
		if (!scroller) return;
		const { scrollTop, scrollHeight, clientHeight } = scroller;
		if (scrollHeight - clientHeight - scrollTop <= NEAR) {
			this.isFollowing = true;
		} else if (scrollTop < this.#top - 1) {
			// the browser itself scrolls when something above changes its height; a jump of its search does not
			const byPerson = performance.now() - this.#byPersonAt < BY_PERSON_MS;
			if (byPerson || scrollHeight === this.#height) this.isFollowing = false;
		}
		this.#top = scrollTop;
		this.#height = scrollHeight;
	}
}
