// Crowd.java: ten threads compute on two CPUs.
public class Crowd {
	static volatile double sink;
	public static void main(String[] a) {
		for (int i = 0; i < 10; i++) {
			new Thread(() -> {
				double x = 1;
				for (;;) {
					for (int k = 0; k < 100000; k++) x = Math.sqrt(x + k);
					sink = x;
				}
			}, "compute-" + i).start();
		}
	}
}
