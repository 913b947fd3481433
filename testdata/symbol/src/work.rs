use std::collections::{BTreeMap, HashMap};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key { shard: u32, name: String }

trait Score { fn score(&self) -> u64; }
impl Score for Key {
    #[inline]
    fn score(&self) -> u64 { self.name.bytes().fold(self.shard as u64, |a, b| a.wrapping_mul(31).wrapping_add(b as u64)) }
}

fn build(n: u32) -> HashMap<Key, u64> {
    (0..n).map(|i| Key { shard: i % 7, name: format!("key-{}", i) }).map(|k| { let s = k.score(); (k, s) }).collect()
}

fn main() {
    let n = std::env::args().count() as u32 * 500;
    let map = Arc::new(Mutex::new(build(n)));
    let (tx, rx) = mpsc::channel();
    let handles: Vec<_> = (0..4).map(|t| {
        let (map, tx) = (map.clone(), tx.clone());
        thread::spawn(move || {
            let m = map.lock().unwrap();
            let mut v: Vec<_> = m.iter().filter(|(k, _)| k.shard == t).collect();
            v.sort_by(|a, b| a.1.cmp(b.1).then_with(|| a.0.cmp(b.0)));
            tx.send(v.iter().map(|(_, s)| **s % 1000).sum::<u64>()).unwrap();
        })
    }).collect();
    drop(tx);
    let mut out = BTreeMap::new();
    for (i, v) in rx.iter().enumerate() { *out.entry(v % 3).or_insert(0) += i as u64 + v; }
    for h in handles { h.join().unwrap(); }
    println!("{:?}", out);
}
