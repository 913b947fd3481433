# freezer.py GROUP: freezes and thaws a control group 100 times a second.
import sys, time
f = open(sys.argv[1] + "/freezer.state", "w", buffering=1)
while True:
    for state, rest in (("FROZEN", 0.004), ("THAWED", 0.006)):
        f.write(state + "\n")
        time.sleep(rest)
