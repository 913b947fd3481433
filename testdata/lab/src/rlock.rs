// rlock.rs: six threads share one std::sync::Mutex (a futex): 40 µs inside,
// 5 µs outside.
use std::sync::{Arc, Mutex};
use std::time::Instant;
fn crunch(us: u128) {
    let start = Instant::now();
    while start.elapsed().as_micros() < us {}
}
fn main() {
    let total = Arc::new(Mutex::new(0u64));
    let all: Vec<_> = (0..6).map(|_| {
        let total = total.clone();
        std::thread::spawn(move || loop {
            {
                let mut t = total.lock().unwrap();
                *t += 1;
                crunch(40);
            }
            crunch(5);
        })
    }).collect();
    for t in all { t.join().unwrap(); }
}
