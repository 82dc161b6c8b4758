def contend(work, stride, wrong):
    return 0
