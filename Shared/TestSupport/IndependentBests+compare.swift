package import Workouts

extension IndependentBests.Result {
    /// What differs in a summary. Python adds up in another order, so the last of three decimals may.
    package func differences(from summary: MetricsSummary) -> [String] {
        let (own, bests) = (summary.bests, bests)
        var differences = compare("distance", own?.distance, bests.distance) { [$0.m, $0.s, $0.t] }
        differences += compare("power", own?.power, bests.power) { [$0.s, $0.w, $0.t] }
        differences += compare("heart rate", own?.heartRate, bests.heartRate) { [$0.s, $0.bpm, $0.t] }
        differences += compare("load", summary.load.map { [$0] }, load == TrainingLoad() ? [] : [load]) {
            [$0.heartRate, $0.normalizedPower, $0.intensity, $0.stress].map { $0 ?? -1 }
        }
        let all = summary.sources ?? []
        for quantity in ["heart_rate", "distance", "power", "speed", "pool_lengths"] {
            let ours = all.filter { $0.quantity == quantity }
            let theirs = sources.filter { $0.quantity == quantity }
            // The shortest are left out.
            if all.count == CountedSource.limit, ours.count < theirs.count { continue }
            if ours.map(\.device) != theirs.map(\.device) { differences.append("devices of \(quantity)") }
            differences += compare(quantity, ours, theirs) { [$0.from, $0.to] }
        }
        return differences
    }

    private func compare<Value>(
        _ name: String, _ ours: [Value]?, _ theirs: [Value]?, _ numbers: (Value) -> [Double]
    ) -> [String] {
        let (ours, theirs) = ((ours ?? []).map(numbers), (theirs ?? []).map(numbers))
        let areEqual =
            ours.count == theirs.count
            && zip(ours, theirs).allSatisfy { zip($0, $1).allSatisfy { abs($0 - $1) < 0.0016 } }
        return areEqual ? [] : ["\(name): \(ours), in Python \(theirs)"]
    }
}
