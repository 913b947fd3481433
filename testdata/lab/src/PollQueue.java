// PollQueue.java: four consumers call poll with a limit of 1 ms on a queue that
// stays empty.
import java.util.concurrent.*;
public class PollQueue {
	public static void main(String[] a) {
		final LinkedBlockingQueue<Object> q = new LinkedBlockingQueue<>();
		for (int i = 0; i < 4; i++) {
			new Thread(() -> {
				try {
					for (;;) if (q.poll(1, TimeUnit.MILLISECONDS) != null) return;
				} catch (InterruptedException e) { }
			}, "poller-" + i).start();
		}
	}
}
