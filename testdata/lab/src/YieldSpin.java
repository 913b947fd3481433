// YieldSpin.java: five threads wait for their turn by Thread.yield, as a
// yielding wait strategy does.
public class YieldSpin {
	static volatile int turn;
	public static void main(String[] a) {
		for (int i = 0; i < 5; i++) {
			final int own = i;
			new Thread(() -> {
				for (;;) {
					while (turn != own) Thread.yield();
					double x = 1;
					for (int k = 0; k < 2000; k++) x = Math.sqrt(x + k);
					turn = x > 0 ? (own + 1) % 5 : 0;
				}
			}, "stage-" + i).start();
		}
	}
}
