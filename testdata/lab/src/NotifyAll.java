// NotifyAll.java: 16 consumers in Object.wait; a producer offers one item at a
// time and calls notifyAll: one consumer finds it, the others wait again.
public class NotifyAll {
	static int items;

	public static void main(String[] a) throws Exception {
		final Object lock = new Object();
		for (int i = 0; i < 16; i++) {
			new Thread(() -> {
				try {
					for (;;) synchronized (lock) {
						while (items == 0) lock.wait();
						items--;
					}
				} catch (InterruptedException e) { }
			}, "consumer-" + i).start();
		}
		for (;;) {
			Thread.sleep(2);
			synchronized (lock) {
				items++;
				lock.notifyAll();
			}
		}
	}
}
