import Workouts

extension Timestamp {
    /// Reads `2014-01-16T18:48:44.340Z`: the fraction may be missing or longer, an offset such as `+01:00` may stand for
    /// `Z`, and without either the time is UTC.
    init?(iso8601 text: some StringProtocol) {
        var rest = Substring(text)[...]
        func number(_ digits: Int) -> Int? {
            let part = rest.prefix(digits)
            guard part.utf8.count == digits, part.utf8.allSatisfy(isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            return Int(part)
        }
        func skip(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2), skip("T"),
            let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var microseconds: Int64 = 0
        if skip(".") {
            let digits = rest.prefix { $0.utf8.allSatisfy(isDigit) }
            guard let fraction = Double("0.\(digits)0") else { return nil }
            microseconds = Int64((fraction * 1e6).rounded())
            rest = rest.dropFirst(digits.count)
        }
        var offset = 0
        if let sign = rest.first, sign == "+" || sign == "-" {
            rest = rest.dropFirst()
            guard let hours = number(2), hours < 24 else { return nil }
            _ = skip(":")
            guard let minutes = rest.isEmpty ? 0 : number(2), minutes < 60 else { return nil }
            offset = (sign == "+" ? 60 : -60) * (hours * 60 + minutes)
        } else {
            _ = skip("Z")
        }
        guard rest.isEmpty else { return nil }
        let seconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(microseconds: Int64(seconds) * 1_000_000 + microseconds)
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// Days of the Gregorian calendar from 1970-01-01, counted in years that begin in March so that leap days come last.
private func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let month = month <= 2 ? month + 9 : month - 3
    return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
}
