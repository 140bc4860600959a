extension FITFile {
    /// The session of the records that a cut left without one, from the first of them to the last.
    var openSession: FITMessage? {
        guard cut != nil else { return nil }
        let last = messages.lastIndex { $0.global == FITProfile.Session.global }
        let rest = messages[(last.map { $0 + 1 } ?? 0)...]
        let times = rest.filter { $0.global == FITProfile.Record.global }
            .compactMap { message -> Double? in
                guard case .number(let time)? = message.fields[FITProfile.timestamp.number] else { return nil }
                return time
            }
        guard let start = times.min(), let end = times.max() else { return nil }
        var fields: [UInt8: FITValue] = [
            FITProfile.Session.start.number: .number(start), FITProfile.timestamp.number: .number(end),
        ]
        // Devices write the sport at the start, or with each lap.
        if let sport = rest.last(where: { $0.global == FITProfile.Sport.global }) {
            fields[FITProfile.Session.sport.number] = sport.fields[FITProfile.Sport.sport.number]
            fields[FITProfile.Session.subSport.number] = sport.fields[FITProfile.Sport.subSport.number]
        } else if let lap = rest.last(where: { $0.global == FITProfile.Lap.global }) {
            fields[FITProfile.Session.sport.number] = lap.fields[FITProfile.Lap.sport.number]
            fields[FITProfile.Session.subSport.number] = lap.fields[FITProfile.Lap.subSport.number]
        }
        return FITMessage(global: FITProfile.Session.global, local: 0, fields: fields, developerFields: [])
    }
}
