// Exchange.java: two threads hand every message to each other by two
// semaphores, and wait for the answer.
import java.util.concurrent.Semaphore;
public class Exchange {
	static long message;
	public static void main(String[] a) {
		final Semaphore ask = new Semaphore(0), answer = new Semaphore(0);
		new Thread(() -> {
			for (;;) {
				ask.acquireUninterruptibly();
				message++;
				answer.release();
			}
		}, "answerer").start();
		new Thread(() -> {
			for (;;) {
				message++;
				ask.release();
				answer.acquireUninterruptibly();
			}
		}, "asker").start();
	}
}
