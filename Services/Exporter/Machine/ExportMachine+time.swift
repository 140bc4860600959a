import Bus
import Workouts

extension ExportMachine {
    private static let sweepInterval = 1.0

    /// Lets the service's clock pass: devices are asked, and asked again; retained topics are cleared. Looks once a second.
    mutating func advance(to now: Timestamp) -> [ExportAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval || now < $0 }) ?? true else { return [] }
        sweptAt = now
        var actions: [ExportAction] = []
        for (key, entry) in entries {
            if entry.record.isAtRest(now) {
                if var job = entry.record[.healthKit], job.status == .exporting {
                    var entry = entry
                    job.giveUp(now)
                    entry.record[.healthKit] = job
                    entry.record.changedAt = now
                    store(entry, key)
                    actions += [.save(key), .publish(key, .healthKit)]
                    continue
                }
                forget(key)
                actions += entry.record.jobs.map { .publish(key, $0.target) }
            } else if var job = entry.record[.healthKit], job.isDeviceDue(now) {
                var entry = entry
                job.askDevice(entry.record.workout, now: now)
                job.revise(now)
                entry.record[.healthKit] = job
                store(entry, key)
                actions += [.save(key), .publish(key, .healthKit)]
            }
        }
        return actions
    }
}
